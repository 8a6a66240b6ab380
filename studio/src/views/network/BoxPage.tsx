import { bytes, count, percent, seconds } from "../../figures/steps";
import { Fragment } from "react";
import type { Go } from "../../address";
import type { ArcFacts, BoxFacts } from "../../wire/api";
import type { ShownProps } from ".";
import { partsOf, spansOf } from "./about";
import { costInWords } from "./detail";
import { GraphPlot } from "./GraphPlot";
import { lossesOf, useOverflow } from "./losses";
import { OutputRows } from "./OutputRows";
import { AskWhy } from "./Why";

export function BoxPage({ box, network, moment, state, go }: ShownProps & { box: BoxFacts }) {
  const superbox = network.superboxes.find((one) => one.name === box.superbox);
  const window = moment?.window;
  const own = window?.boxes[box.name];
  const coming = network.arcs.filter((arc) => arc.end === box.name);
  const leaving = network.arcs.filter((arc) => arc.begin === box.name);
  const output = state?.status?.window.outputs?.[box.name];
  const delay = window?.delays[box.name];
  const source = window?.sources[box.name];
  const read = moment?.live ? state?.status?.window.sources?.[box.name] : undefined;
  const overflow = useOverflow(state?.status);
  const lost = state?.status && box.kind === "output" ? lossesOf(network, window, state.status, overflow)[box.name] : undefined;
  const kept = window?.state[box.name];
  const active = state?.status?.state === "running" || state?.status?.state === "paused";
  return (
    <article data-testid="box-page">
      <p className="kicker">{box.kind.replaceAll("_", " ")}</p>
      <h2>{box.name}</h2>
      <p>{box.summary.replace(` (${box.paper})`, "")}</p>
      {box.paper && <p className="small" data-testid="paper">From the papers: {box.paper}</p>}
      {own && window && (
        <dl className="figures">
          {coming.length > 0 && <div><dt>in</dt><dd>{count(own.in / window.span)}/s</dd></div>}
          {box.outputs.length > 0 && <div><dt>out</dt><dd>{count(own.out / window.span)}/s</dd></div>}
          {coming.length > 0 && box.outputs.length > 0 && (
            <>
              <div><dt>out for each in</dt><dd>{own.in ? rounded(own.out / own.in) : "–"}</dd></div>
              <div><dt>a tuple costs</dt><dd>{own.in ? costInWords(own.seconds / own.in) : "–"}</dd></div>
              <div><dt>of a step</dt><dd>{percent(own.pressure)}</dd></div>
              <div><dt>busiest slot</dt><dd>{own.skew ? `${own.skew.toFixed(2)}× mean` : "–"}</dd></div>
            </>
          )}
          {box.stateful && <div data-testid="state-size"><dt>state</dt><dd>{kept === undefined ? "–" : bytes(kept)}</dd></div>}
          {delay && <div><dt>delay p50</dt><dd>{seconds(delay.p50)}</dd></div>}
          {delay && <div><dt>delay p99</dt><dd>{seconds(delay.p99)}</dd></div>}
          {source && <div><dt>waits to be read</dt><dd>{source.waiting === null ? "–" : count(source.waiting)}</dd></div>}
          {read?.event_time != null && <div title="All tuples up to this time of the stream have been read"><dt>complete through</dt><dd className="mono">{read.event_time}</dd></div>}
          {read?.lag != null && <div title="How far the time of the stream is behind the clock"><dt>behind the clock</dt><dd>{seconds(read.lag)}</dd></div>}
          {source?.share != null && <div><dt>read so far</dt><dd>{percent(source.share)}</dd></div>}
        </dl>
      )}
      {lost && (
        <section data-testid="losses">
          <h3>What it misses</h3>
          <dl className="figures">
            <div title="On all arcs that lead to it, since the run began"><dt>left out</dt><dd>{count(lost.shed)}</dd></div>
            <div><dt>left out now</dt><dd>{window ? `${count(lost.shedNow / (window.span || 1))}/s` : "–"}</dd></div>
            <div title="Tuples in queues on the arcs that lead to it"><dt>held</dt><dd>{count(lost.held)}</dd></div>
            <div title="Left out, and kept to be settled later"><dt>to be settled</dt><dd>{count(lost.waiting)}</dd></div>
            <div title="Answers to what was left out"><dt>settled late</dt><dd>{count(lost.settled)}</dd></div>
          </dl>
        </section>
      )}
      {own && own.slots.length > 1 && (
        <section data-testid="slots">
          <h3>Work by slot</h3>
          <ol className="slots">
            {busiest(own.slots).map(([slot, spent]) => (
              <li key={slot}>
                <span className="small">slot {slot}</span>
                <span className="meter"><i className="calm" style={{ width: `${(100 * spent) / Math.max(...own.slots.map(([, one]) => one), 1e-9)}%` }} /></span>
                <span className="small">{seconds(spent)}</span>
              </li>
            ))}
          </ol>
          {own.slots.length > MOST_SLOTS && <p className="small">the busiest {MOST_SLOTS} of {own.slots.length}</p>}
        </section>
      )}
      {box.graphs?.delay && box.graphs.delay.length > 0 && (
        <section>
          <h3>Delay and what it is worth</h3>
          <GraphPlot graph={box.graphs.delay} at={output?.p99 ?? null} label="delay in seconds" />
          {output && output.p99 !== null && (
            <p className="small">p50 {output.p50 === null ? "–" : seconds(output.p50)}, p99 {seconds(output.p99)}, utility {output.utility?.toFixed(2) ?? "–"}</p>
          )}
        </section>
      )}
      {state?.status && box.kind === "output" && coming[0] && (
        <>
          {active && <OutputRows arc={coming[0]} output={box.name} />}
          <AskWhy output={box.name} columns={coming[0].columns} />
        </>
      )}
      {Object.keys(box.arguments).length > 0 && (
        <section>
          <h3>Arguments</h3>
          <dl className="arguments">
            {Object.entries(box.arguments).map(([name, value]) => (
              <div key={name}><dt>{name}</dt><dd><code>{value}</code></dd></div>
            ))}
          </dl>
        </section>
      )}
      <section>
        <h3>Where it runs</h3>
        <p className="small">
          {superbox ? superbox.place : "–"}
          {superbox && superbox.boxes.length > 1 ? `, together with ${superbox.boxes.filter((one) => one !== box.name).join(", ")}` : ""}
          {box.kept ? `; keeps its tuples ${box.kept.startsWith("for ") ? box.kept : `for ${box.kept}`}` : ""}
        </p>
      </section>
      <Streams title="In" ports={byPort(coming, "end_port")} other="begin" go={go} />
      <Streams title="Out" ports={byPort(leaving, "begin_port")} other="end" go={go} />
      {box.about && (
        <section className="about">
          <h3>From its documentation</h3>
          {partsOf(box.about).map((part, place) => {
            if (part.kind === "heading") return <h4 key={place}>{part.texts[0]}</h4>;
            if (part.kind === "list") return <ul key={place}>{part.texts.map((text) => <li key={text}>{withCode(text)}</li>)}</ul>;
            return <p key={place}>{withCode(part.texts[0]!)}</p>;
          })}
        </section>
      )}
    </article>
  );
}

const withCode = (text: string) => spansOf(text).map((span, place) => (place % 2 ? <code key={place}>{span}</code> : span));

/** The arcs of each port: all of them carry the same stream. */
function byPort(arcs: ArcFacts[], of: "begin_port" | "end_port"): Map<string, ArcFacts[]> {
  const found = new Map<string, ArcFacts[]>();
  for (const arc of arcs) found.set(arc[of], [...(found.get(arc[of]) ?? []), arc]);
  return found;
}

/** The schema of what comes or goes, port by port, and the arcs that carry it. */
function Streams({ title, ports, other, go }: { title: string; ports: Map<string, ArcFacts[]>; other: "begin" | "end"; go: Go }) {
  if (!ports.size) return null;
  return (
    <section data-testid={`schema-${title.toLowerCase()}`}>
      <h3>{title}</h3>
      {[...ports].map(([port, arcs]) => (
        <div key={port} className="port">
          <p className="small">
            {ports.size > 1 ? `${port}: ` : ""}{other === "begin" ? "from" : "to"}{" "}
            {arcs.map((arc, place) => (
              <Fragment key={arc.name}>
                {place ? ", " : ""}<button className="link" onClick={() => go({ arc: arc.name, box: null })} aria-label={`the arc ${arc.name}`}>{arc[other]}</button>
              </Fragment>
            ))}
            {arcs[0]!.key.length ? `, by ${arcs[0]!.key.join(", ")}` : ""}
          </p>
          <Columns columns={arcs[0]!.columns} time={arcs[0]!.time} keys={arcs[0]!.key} />
        </div>
      ))}
    </section>
  );
}

const MOST_SLOTS = 16;

/** All slots in order; of very many, those that work most. */
function busiest(slots: [number, number][]): [number, number][] {
  return slots.length <= MOST_SLOTS ? slots : [...slots].sort(([, a], [, b]) => b - a).slice(0, MOST_SLOTS);
}

/** Three digits, and never an exponent where a plain number can be read. */
function rounded(value: number): string {
  return Math.abs(value) >= 1000 ? count(value) : String(Number(value.toPrecision(3)));
}

export function Columns({ columns, time, keys }: { columns: Record<string, string>; time: string; keys: string[] }) {
  return (
    <table className="columns">
      <tbody>
        {Object.entries(columns).map(([name, kind]) => (
          <tr key={name}>
            <td>{name}</td>
            <td>{kind}</td>
            <td className="small">{name === time ? "time" : keys.includes(name) ? "key" : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
