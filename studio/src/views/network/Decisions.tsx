// What the run and its users decided: the drop plan, what is held, and what the optimizer changed, each with its reason.

import { useEffect, useState } from "react";
import type { Go } from "../../address";
import { count, percent, utilityAt, type Status } from "../../figures/steps";
import { outputsBehind } from "../../graph/model";
import { get, post, type NetworkFacts, type Overflowed } from "../../wire/api";

interface Props {
  network: NetworkFacts;
  status: Status;
  overflow: Overflowed;
  /** The share of the time that steps take. */
  busy: number;
  go: Go;
}

export function Decisions(props: Props) {
  return (
    <>
      <DropPlan {...props} />
      <Optimizer status={props.status} />
    </>
  );
}

/** What is left out and held, on which arc, why, and which outputs miss it. */
function DropPlan({ network, status, overflow, busy, go }: Props) {
  const [said, setSaid] = useState<string | null>(null);
  const shed = status.steering.shed ?? {};
  const hold = status.steering.hold ?? {};
  const arcs = [...new Set([...Object.keys(shed), ...Object.keys(hold), ...Object.keys(status.shed)])].sort();
  const byHand = useByHand(Object.keys({ ...shed, ...hold }).sort().join());
  const behind = outputsBehind(network);
  const settle = () =>
    post<{ said: string }>("settle", {}).then(
      (answer) => setSaid(answer.said),
      (mistake: Error) => setSaid(mistake.message),
    );
  const late = Object.entries(overflow.late);
  return (
    <section data-testid="drop-plan">
      <h3>Drop plan</h3>
      {!arcs.length && <p className="small">Nothing is left out or held.</p>}
      {arcs.map((arc) => (
        <div key={arc} className="decision">
          <button className="link" onClick={() => go({ arc, box: null })}>{arc}</button>
          <p className="small">{planInWords(shed[arc] as Drop | undefined, hold[arc], status.shed[arc] ?? 0)}</p>
          {(shed[arc] || arc in hold) && (
            <p className="small">
              Reason: {reason(byHand.has(arc), arc in shed, busy)}
              {(behind.get(arc) ?? []).map((output) => (
                <span key={output}>
                  ; <button className="link" onClick={() => go({ box: output, arc: null })}>{output}</button> {missed(network, output, shed[arc] as Drop | undefined)}
                </span>
              ))}
            </p>
          )}
        </div>
      ))}
      {(overflow.waiting > 0 || late.length > 0) && (
        <p className="small" data-testid="overflow">
          {count(overflow.waiting)} tuples wait to be settled; answers that came late: {late.map(([name, number]) => `${name} ${count(number)}`).join(", ") || "none"}.{" "}
          {overflow.waiting > 0 && <button onClick={settle}>Settle now</button>}
        </p>
      )}
      {said && <p className="small" role="status">{said}</p>}
    </section>
  );
}

export interface Drop {
  share: number;
  keep?: string | null;
  overflow?: boolean;
  by?: string[];
}

export function planInWords(drop: Drop | undefined, take: number | undefined, leftOut: number): string {
  const parts = [
    drop?.share ? `leaves out ${percent(drop.share)}${drop.by?.length ? ` of the groups by ${drop.by.join(", ")}` : ""}` : "",
    drop?.keep ? `keeps only where ${drop.keep}` : "",
    drop?.overflow ? "what is left out is settled later" : "",
    leftOut ? `${count(leftOut)} left out so far` : "",
    take === undefined ? "" : take ? `held, ${count(take)} a step go on` : "held",
  ];
  const words = parts.filter(Boolean).join("; ");
  return words && `${words[0]!.toUpperCase()}${words.slice(1)}.`;
}

function reason(byHand: boolean, sheds: boolean, busy: number): string {
  if (byHand) return "a command";
  return sheds
    ? `the run is overloaded (steps take ${percent(Math.min(1, busy))} of the time), and of all that may be left out this costs the least utility`
    : "the run lets it wait for what is worth more";
}

/** What a drop does to an output: its graph says what the rest is worth. */
function missed(network: NetworkFacts, output: string, drop: Drop | undefined): string {
  if (!drop) return "waits for it";
  const graph = (network.boxes.find((box) => box.name === output)?.graphs?.share ?? []) as [number, number][];
  if (drop.keep || !graph.length) return "misses it";
  return `misses it: a share of ${percent(1 - drop.share)} is worth ${utilityAt(graph, 1 - drop.share).toFixed(2)}`;
}

/** The arcs that a command steers, and not the run itself. */
function useByHand(steered: string): ReadonlySet<string> {
  const [byHand, setByHand] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (!steered) return;
    get<{ shed?: object; hold?: object }>("control").then(
      (said) => setByHand(new Set([...Object.keys(said.shed ?? {}), ...Object.keys(said.hold ?? {})])),
      () => {},
    );
  }, [steered]);
  return byHand;
}

const LOOK_SECONDS = 5;
const MOST = 5;

/** What the optimizer changed, what it expected of that, what came of it, and the figures that it went by. */
function Optimizer({ status }: { status: Status }) {
  const [decisions, setDecisions] = useState<string[]>([]);
  const active = status.state === "running";
  useEffect(() => {
    const look = () => get<string[]>("decisions").then(setDecisions, () => setDecisions([]));
    void look();
    if (!active) return;
    const timer = setInterval(() => void look(), 1000 * LOOK_SECONDS); // what came of a decision is known some steps later
    return () => clearInterval(timer);
  }, [status.network_version, active]);
  return (
    <section data-testid="optimizer">
      <h3>Optimizer</h3>
      {!decisions.length && <p className="small">It has changed nothing.</p>}
      {decisions.slice(-MOST).reverse().map((text) => <pre key={text} className="about mono">{text}</pre>)}
    </section>
  );
}
