// A tuple typed in, through a copy of what is behind the arc: what each box got and gave.

import { useState } from "react";
import type { Go } from "../../address";
import { wayTo } from "../../graph/model";
import { post, type ArcFacts, type NetworkFacts } from "../../wire/api";
import { hops, type Hop } from "./hops";
import { shown, type Row } from "./Monitor";

interface Props {
  arc: ArcFacts;
  network: NetworkFacts;
  go: Go;
  typed: string;
  onChange(text: string): void;
  onClose(): void;
}

export function Trace({ arc, network, go, typed, onChange, onClose }: Props) {
  const [traced, setTraced] = useState<Hop[] | null>(null);
  const [reached, setReached] = useState(0);
  const [error, setError] = useState<string | null>(null);
  // The box is shown on the drawing as well, with its groups open.
  const show = ({ box }: Hop) => go({ open: [...new Set([...opened(), ...wayTo(network, box)])].join("|"), focus: box });
  const next = () => {
    if (!traced || reached >= traced.length) return;
    show(traced[reached]!);
    setReached(reached + 1);
  };
  const run = (all: boolean) => {
    let rows: Row[];
    try {
      const said: unknown = JSON.parse(typed);
      rows = (Array.isArray(said) ? said : [said]) as Row[];
    } catch (mistake) {
      setError(`this is not JSON: ${(mistake as Error).message}`);
      return;
    }
    post<{ tuples: Record<string, Row[]> }>("sample/trace", { arc: arc.name, rows }).then(
      ({ tuples }) => {
        const found = hops(network, arc, rows, tuples);
        setTraced(found);
        setReached(all ? found.length : Math.min(1, found.length));
        if (!all && found[0]) show(found[0]);
        setError(null);
      },
      (mistake: Error) => setError(mistake.message),
    );
  };
  return (
    <div className="trace" data-testid="trace">
      <p className="small">Through a copy of what is behind this arc, with empty state; the run is not touched.</p>
      <textarea className="mono" rows={3} value={typed} onChange={(event) => onChange(event.target.value)} aria-label="Tuples as JSON" spellCheck={false} />
      <div className="line">
        <button className="primary" onClick={() => run(true)}>Run it</button>
        {traced && reached < traced.length ? <button onClick={next}>Next box</button> : <button onClick={() => run(false)} title="From box to box, each shown on the drawing">Step through</button>}
        <button onClick={onClose}>Close</button>
      </div>
      {error && <p className="small error" role="alert">{error}</p>}
      {traced && (
        <ol className="hops">
          {traced.slice(0, reached).map((hop) => (
            <li key={hop.box}>
              <b>{hop.box}</b> <span className="small">{hop.kind}</span>
              <Tuples what="got" rows={hop.got} />
              {hop.gave && <Tuples what="gave" rows={hop.gave} />}
            </li>
          ))}
        </ol>
      )}
      {traced && !traced.length && <p className="small">Nothing is behind this arc.</p>}
    </div>
  );
}

function Tuples({ what, rows }: { what: string; rows: Row[] }) {
  return (
    <div>
      <span className="small">{what} {rows.length} tuple{rows.length === 1 ? "" : "s"}</span>
      {rows.slice(0, MOST).map((row, place) => (
        <code key={place}>{Object.entries(row).map(([name, value]) => `${name} ${shown(value)}`).join(" · ")}</code>
      ))}
      {rows.length > MOST && <span className="small">and {rows.length - MOST} more</span>}
    </div>
  );
}

const MOST = 3;

function opened(): string[] {
  return (new URLSearchParams(location.hash.split("?")[1] ?? "").get("open") ?? "").split("|").filter(Boolean);
}
