// What deserves a look first; sources and outputs; what is steered.

import { bytes, count, percent, seconds, utilityAt, worst } from "../../figures/steps";
import type { Go } from "../../address";
import { useEffect, useState } from "react";
import type { Status } from "../../figures/steps";
import { get, post, type Overflowed } from "../../wire/api";
import type { ShownProps } from ".";
import { Profile } from "./Profile";

export function Overview({ network, moment, state, go }: ShownProps) {
  const status = state?.status;
  const window = moment?.window;
  const graphs = Object.fromEntries(network.boxes.map((box) => [box.name, (box.graphs?.delay ?? []) as [number, number][]]));
  const ranked = window ? worst(window, graphs) : [];
  const choose = (kind: string, name: string) => go(kind === "arc" ? { arc: name, box: null } : { box: name, arc: null, focus: name });
  if (!status || !window) {
    return (
      <article>
        <h2>{network.name}</h2>
        <p>{network.boxes.length} boxes, {network.arcs.length} arcs, {network.superboxes.length} superboxes in {network.shards} shards. Choose a box or an arc.</p>
      </article>
    );
  }
  return (
    <article>
      <h2>Look here first</h2>
      {ranked.length ? (
        <ol className="ranked" data-testid="ranked">
          {ranked.slice(0, 8).map((one) => (
            <li key={`${one.kind}${one.name}`}>
              <button className="link" onClick={() => choose(one.kind, one.name)}>{one.name}</button>
              <span className="small">{one.why}</span>
              <span className="meter"><i style={{ width: `${100 * Math.min(1, one.weight)}%` }} className={one.weight >= 0.6 ? "pressed" : one.weight >= 0.25 ? "busy" : "calm"} /></span>
            </li>
          ))}
        </ol>
      ) : (
        <p className="small">Nothing is pressed.</p>
      )}
      <h3>Sources</h3>
      <table className="table">
        <thead><tr><th>name</th><th>per second</th><th>wait</th><th>read</th></tr></thead>
        <tbody>
          {Object.keys(status.tuples_in).map((name) => {
            const own = window.sources[name];
            return (
              <tr key={name}>
                <td><button className="link" onClick={() => choose("box", name)}>{name}</button></td>
                <td>{own ? count(own.tuples / window.span) : "–"}</td>
                <td>{own?.waiting == null ? "–" : count(own.waiting)}</td>
                <td>{own?.share == null ? count(status.tuples_in[name]!) : percent(own.share)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <h3>Outputs</h3>
      <table className="table">
        <thead><tr><th>name</th><th>per second</th><th>p50</th><th>p99</th><th>worth</th></tr></thead>
        <tbody>
          {Object.keys(status.tuples_out).map((name) => {
            const own = window.delays[name];
            const utility = status.window.outputs?.[name]?.utility;
            const worth = own && graphs[name]?.length ? utilityAt(graphs[name], own.p99) : utility;
            return (
              <tr key={name}>
                <td><button className="link" onClick={() => choose("box", name)}>{name}</button></td>
                <td>{own ? count(own.tuples / window.span) : "–"}</td>
                <td>{own ? seconds(own.p50) : "–"}</td>
                <td>{own ? seconds(own.p99) : "–"}</td>
                <td className={worth != null && worth < 1 ? "bad" : ""}>{worth == null ? "–" : worth.toFixed(2)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <Steered status={status} go={go} busy={window.span > 0 ? window.busy / window.span : 0} />
      <h3>Steps</h3>
      {state && moment && <Profile steps={state.steps.slice(Math.max(0, moment.end - 60), moment.end)} />}
      <dl className="figures">
        <div><dt>steps in the window</dt><dd>{window.steps}</dd></div>
        <div><dt>a step takes</dt><dd>{window.steps ? seconds(window.busy / window.steps) : "–"}</dd></div>
        <div><dt>state</dt><dd>{window.stateBytes ? bytes(window.stateBytes) : "–"}</dd></div>
        <div><dt>written a step</dt><dd>{window.steps && window.stateWritten ? bytes(Math.round(window.stateWritten / window.steps)) : "–"}</dd></div>
        <div><dt>set aside</dt><dd>{count(status.set_aside)}</dd></div>
        <div><dt>version</dt><dd>{status.network_version}</dd></div>
      </dl>
    </article>
  );
}

/** What is held and left out, and what the optimizer changed, with its reasons. */
function Steered({ status, go, busy }: { status: Status; go: Go; busy: number }) {
  const [decisions, setDecisions] = useState<string[]>([]);
  useEffect(() => {
    get<string[]>("decisions").then(setDecisions, () => setDecisions([]));
  }, [status.network_version]);
  const leftOut = Object.keys(status.shed).length > 0;
  const [overflow, setOverflow] = useState<Overflowed>({ waiting: 0, late: {} });
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (!leftOut) return;
    const look = () => get<Overflowed>("overflow").then(setOverflow, () => {});
    void look();
    const timer = setInterval(() => void look(), 2000);
    return () => clearInterval(timer);
  }, [leftOut]);
  const settle = () =>
    post<{ said: string }>("settle", {}).then(
      (answer) => setSaid(answer.said),
      (mistake: Error) => setSaid(mistake.message),
    );
  const late = Object.entries(overflow.late);
  const arcs = { ...status.steering.shed, ...status.steering.hold };
  const steered = Object.keys(arcs).sort().join();
  const [byHand, setByHand] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (!steered) return;
    get<{ shed?: object; hold?: object }>("control").then((said) => setByHand(new Set([...Object.keys(said.shed ?? {}), ...Object.keys(said.hold ?? {})])), () => {});
  }, [steered]);
  if (!Object.keys(arcs).length && !Object.keys(status.shed).length && !decisions.length) return null;
  return (
    <section data-testid="steered">
      <h3>Decisions</h3>
      {[...new Set([...Object.keys(arcs), ...Object.keys(status.shed)])].map((arc) => {
        const shed = status.steering.shed?.[arc];
        const held = status.steering.hold?.[arc];
        const parts = [
          shed ? `leaves out ${percent(Number(shed.share))}${shed.keep ? `, keeps ${String(shed.keep)}` : ""}` : "",
          status.shed[arc] ? `${count(status.shed[arc])} left out so far` : "",
          held !== undefined ? (held ? `held, ${count(held)} a step go on` : "held") : "",
          byHand.has(arc) ? "by a command" : shed ? `decided by the run: steps take ${percent(Math.min(1, busy))} of the time, and of all that may be left out this costs the least utility` : held !== undefined ? "decided by the run, for what is worth more" : "",
        ];
        return (
          <p key={arc} className="small"><button className="link" onClick={() => go({ arc, box: null })}>{arc}</button> {parts.filter(Boolean).join("; ")}</p>
        );
      })}
      {(overflow.waiting > 0 || late.length > 0) && (
        <p className="small" data-testid="overflow">
          {count(overflow.waiting)} tuples wait to be settled; answers that came late: {late.map(([name, number]) => `${name} ${count(number)}`).join(", ") || "none"}.{" "}
          {overflow.waiting > 0 && <button onClick={settle}>Settle now</button>}
        </p>
      )}
      {said && <p className="small" role="status">{said}</p>}
      {decisions.slice(-5).reverse().map((text) => <pre key={text} className="about mono">{text}</pre>)}
    </section>
  );
}
