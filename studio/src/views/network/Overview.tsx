// What deserves a look first; sources and outputs; what is decided.

import { Fragment } from "react";
import { bytes, count, percent, seconds, utilityAt, worst } from "../../figures/steps";
import type { ShownProps } from ".";
import { Decisions } from "./Decisions";
import { lossesInWords, lossesOf, useOverflow } from "./losses";
import { Profile } from "./Profile";

export function Overview({ network, moment, state, go }: ShownProps) {
  const status = state?.status;
  const window = moment?.window;
  const graphs = Object.fromEntries(network.boxes.map((box) => [box.name, (box.graphs?.delay ?? []) as [number, number][]]));
  const ranked = window ? worst(window, graphs) : [];
  const overflow = useOverflow(status);
  const choose = (kind: string, name: string) => go(kind === "arc" ? { arc: name, box: null } : { box: name, arc: null, focus: name });
  if (!status || !window) return <Resting network={network} choose={(name) => choose("box", name)} waits={state !== undefined} />;
  const losses = lossesOf(network, window, status, overflow);
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
        <thead><tr><th>name</th><th>per second</th><th>p50</th><th>p99</th><th>utility</th></tr></thead>
        <tbody>
          {Object.keys(status.tuples_out).map((name) => {
            const own = window.delays[name];
            const utility = status.window.outputs?.[name]?.utility;
            // The run knows what it is worth now, with what was left out; of the past only the delays are kept.
            const worth = moment?.live && utility != null ? utility : own && graphs[name]?.length ? utilityAt(graphs[name], own.p99) : utility;
            const lost = losses[name] && lossesInWords(losses[name]);
            return (
              <Fragment key={name}>
                <tr>
                  <td><button className="link" onClick={() => choose("box", name)}>{name}</button></td>
                  <td>{own ? count(own.tuples / window.span) : "–"}</td>
                  <td>{own ? seconds(own.p50) : "–"}</td>
                  <td>{own ? seconds(own.p99) : "–"}</td>
                  <td className={worth != null && worth < 1 ? "bad" : ""}>{worth == null ? "–" : worth.toFixed(2)}</td>
                </tr>
                {lost && <tr className="lost" data-testid={`losses-${name}`}><td colSpan={5}>{lost}</td></tr>}
              </Fragment>
            );
          })}
        </tbody>
      </table>
      <Decisions network={network} status={status} overflow={overflow} go={go} busy={window.span > 0 ? window.busy / window.span : 0} />
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

/** A network without figures: what it consists of, and how Spark would run it. */
function Resting({ network, choose, waits }: { network: ShownProps["network"]; choose(name: string): void; waits: boolean }) {
  const ends = [
    ["Sources", network.boxes.filter((box) => !box.inputs.length)],
    ["Outputs", network.boxes.filter((box) => !box.outputs.length)],
    ["Connection points and views", network.boxes.filter((box) => box.kept)],
  ] as const;
  return (
    <article data-testid="resting">
      <h2>{network.name}</h2>
      {waits && <p className="small" role="status">Waiting for the figures of the run…</p>}
      <p>{many(network.boxes.length, "box", "boxes")}, {many(network.arcs.length, "arc")}. Choose one to see what it does; a group opens with a click.</p>
      {ends.map(([title, boxes]) => boxes.length > 0 && (
        <section key={title}>
          <h3>{title}</h3>
          <ul className="ranked">
            {boxes.map((box) => (
              <li key={box.name}>
                <button className="link" onClick={() => choose(box.name)}>{box.name}</button>
                <span className="small">{box.kept ? `keeps ${box.kept}` : box.graphs?.delay?.length ? `late after ${seconds(box.graphs.delay[0]![0])}` : ""}</span>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {network.superboxes.length > 0 && (
        <section>
          <h3>As Spark runs it</h3>
          <p className="small">{many(network.superboxes.length, "superbox", "superboxes")} in {many(network.shards, "shard")}; a shuffle leads to each level.</p>
          <dl className="arguments">
            {network.superboxes.map((one) => <div key={one.name}><dt>{one.place}</dt><dd className="small">{one.boxes.join(", ")}</dd></div>)}
          </dl>
        </section>
      )}
    </article>
  );
}

const many = (number: number, one: string, more = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;
