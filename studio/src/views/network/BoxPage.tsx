import { bytes, count, percent, seconds } from "../../figures/steps";
import type { BoxFacts } from "../../wire/api";
import type { ShownProps } from ".";
import { GraphPlot } from "./GraphPlot";
import { AskWhy } from "./Why";

export function BoxPage({ box, network, moment, state, go }: ShownProps & { box: BoxFacts }) {
  const superbox = network.superboxes.find((one) => one.name === box.superbox);
  const window = moment?.window;
  const own = window?.boxes[box.name];
  const coming = network.arcs.filter((arc) => arc.end === box.name);
  const leaving = network.arcs.filter((arc) => arc.begin === box.name);
  const level = state?.steps[moment ? moment.end - 1 : 0]?.slots.filter(([at]) => at === superbox?.level);
  const held = (level ?? []).reduce((sum, slot) => sum + slot[6], 0);
  const output = state?.status?.window.outputs?.[box.name];
  const delay = window?.delays[box.name];
  const source = window?.sources[box.name];
  return (
    <article data-testid="box-page">
      <p className="kicker">{box.kind.replaceAll("_", " ")}</p>
      <h2>{box.name}</h2>
      <p>{box.summary}</p>
      {own && window && (
        <dl className="figures">
          {coming.length > 0 && <div><dt>in</dt><dd>{count(own.in / window.span)}/s</dd></div>}
          {box.outputs.length > 0 && <div><dt>out</dt><dd>{count(own.out / window.span)}/s</dd></div>}
          {coming.length > 0 && box.outputs.length > 0 && (
            <>
              <div><dt>out for each in</dt><dd>{own.in ? rounded(own.out / own.in) : "–"}</dd></div>
              <div><dt>a tuple costs</dt><dd>{own.in ? `${rounded((1e6 * own.seconds) / own.in)} µs` : "–"}</dd></div>
              <div><dt>of a step</dt><dd>{percent(own.pressure)}</dd></div>
              <div><dt>busiest slot</dt><dd>{own.skew ? `${own.skew.toFixed(2)}× mean` : "–"}</dd></div>
            </>
          )}
          {delay && <div><dt>delay p50</dt><dd>{seconds(delay.p50)}</dd></div>}
          {delay && <div><dt>delay p99</dt><dd>{seconds(delay.p99)}</dd></div>}
          {source && <div><dt>waits to be read</dt><dd>{source.waiting === null ? "–" : count(source.waiting)}</dd></div>}
          {source?.share != null && <div><dt>read so far</dt><dd>{percent(source.share)}</dd></div>}
        </dl>
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
            <p className="small">p50 {output.p50?.toFixed(2)} s, p99 {output.p99.toFixed(2)} s, utility {output.utility?.toFixed(2) ?? "–"}</p>
          )}
        </section>
      )}
      {state?.status && box.kind === "output" && coming[0] && <AskWhy output={box.name} columns={coming[0].columns} />}
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
          {box.kept ? `; keeps its tuples for ${box.kept}` : ""}
        </p>
        {box.stateful && level && level.length > 0 && (
          <p className="small">{held > 0 ? `It keeps state; its level holds ${bytes(held)} in ${level.length} slot${level.length > 1 ? "s" : ""}.` : "It keeps state, in the memory of the run."}</p>
        )}
      </section>
      {[
        ["In", coming, "begin"] as const,
        ["Out", leaving, "end"] as const,
      ].map(([title, arcs, other]) =>
        arcs.length ? (
          <section key={title}>
            <h3>{title}</h3>
            {arcs.map((arc) => (
              <div key={arc.name}>
                <button className="link" onClick={() => go({ arc: arc.name, box: null })} aria-label={`the arc ${arc.name}`}>{arc[other]}</button>
                <details open={arcs.length === 1}>
                  <summary className="small">{Object.keys(arc.columns).length} columns{arc.key.length ? `, by ${arc.key.join(", ")}` : ""}</summary>
                  <Columns columns={arc.columns} time={arc.time} keys={arc.key} />
                </details>
              </div>
            ))}
          </section>
        ) : null,
      )}
      {box.about && (
        <section>
          <h3>From its documentation</h3>
          <p className="about">{box.about}</p>
        </section>
      )}
    </article>
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
