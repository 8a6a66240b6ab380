// An arc: its stream, a monitor of the tuples that pass, and what can be done to them.

import { useState } from "react";
import { count } from "../../figures/steps";
import { outputOf } from "../../graph/model";
import { command, type ArcFacts } from "../../wire/api";
import type { ShownProps } from ".";
import { Columns } from "./BoxPage";
import { Monitor, TryTuples } from "./Monitor";
import { AskWhy } from "./Why";

export function ArcPage({ arc, network, moment, state, go }: ShownProps & { arc: ArcFacts }) {
  const window = moment?.window;
  const status = state?.status;
  const active = status?.state === "running" || status?.state === "paused";
  const output = outputOf(network, arc);
  const twins = network.arcs.filter((one) => one.begin === arc.begin && one.end === arc.end);
  return (
    <article data-testid="arc-page">
      <p className="kicker">arc{arc.shuffles ? ", a shuffle" : ""}{arc.signed ? ", signed" : ""}</p>
      <h2>
        <button className="link" onClick={() => go({ box: arc.begin, arc: null })}>{arc.begin}</button>
        {arc.begin_port !== "out" ? `.${arc.begin_port}` : ""} → <button className="link" onClick={() => go({ box: arc.end, arc: null })}>{arc.end}</button>
        {arc.end_port !== "in" ? `.${arc.end_port}` : ""}
      </h2>
      {twins.length > 1 && (
        <p className="small">
          {twins.map((one) => (
            <button key={one.name} className="link" onClick={() => go({ arc: one.name })}>{one.begin_port} → {one.end_port}</button>
          ))}
        </p>
      )}
      {window && (
        <p className="small">
          {count((window.arrivals[`${arc.end}.${arc.end_port}`] ?? 0) / (window.span || 1))} tuples a second
          {arc.key.length ? `, by ${arc.key.join(", ")}` : ""}
        </p>
      )}
      {!state && <TryTuples arc={arc} network={network} go={go} />}
      {status && <Monitor arc={arc} network={network} go={go} active={active} output={output} />}
      {status && output && <AskWhy output={output} columns={arc.columns} />}
      {status && active && <Steer arc={arc} held={status.steering.hold?.[arc.name]} shed={status.steering.shed?.[arc.name]} waiting={window?.held[arc.name]} />}
      <section>
        <h3>Columns</h3>
        <Columns columns={arc.columns} time={arc.time} keys={arc.key} />
      </section>
    </article>
  );
}

interface SteerProps {
  arc: ArcFacts;
  held: number | undefined;
  shed: Record<string, unknown> | undefined;
  waiting: number | undefined;
}

function Steer({ arc, held, shed, waiting }: SteerProps) {
  const [share, setShare] = useState(0.5);
  const [keep, setKeep] = useState("");
  const [overflow, setOverflow] = useState(false);
  const [message, setMessage] = useState<string | null>(null);
  const give = (asked: Parameters<typeof command>[0]) =>
    command({ arc: arc.name, ...asked }).then(
      () => setMessage("takes effect with the next train"),
      (mistake: Error) => setMessage(mistake.message),
    );
  return (
    <section>
      <h3>Steer</h3>
      {arc.no_shed ? (
        <p className="small">Nothing may be left out here: {arc.no_shed}.</p>
      ) : (
        <div className="line">
          <label>
            Leave out <output>{Math.round(100 * share)} %</output>
            <input type="range" min={0} max={1} step={0.05} value={share} onChange={(event) => setShare(Number(event.target.value))} aria-label="Share to leave out" />
          </label>
          <input className="mono" value={keep} onChange={(event) => setKeep(event.target.value)} placeholder="but keep where…" aria-label="Keep only where" />
          <label title="Keep what is left out in the checkpoint, and answer it later">
            <input type="checkbox" checked={overflow} onChange={(event) => setOverflow(event.target.checked)} /> settle later
          </label>
          <button onClick={() => give({ command: "shed", share, keep: keep || null, overflow })}>Shed</button>
          {shed && <button onClick={() => give({ command: "shed", off: true })}>No longer</button>}
        </div>
      )}
      <div className="line">
        <button onClick={() => give({ command: "hold", take: 0 })}>Hold</button>
        {(held !== undefined || waiting) && <button onClick={() => give({ command: "hold", off: true })}>Let go</button>}
        {waiting ? <span className="small">{count(waiting)} tuples wait</span> : null}
      </div>
      {message && <p className="small" role="status">{message}</p>}
    </section>
  );
}
