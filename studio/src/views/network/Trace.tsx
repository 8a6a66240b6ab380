// A tuple typed in, through a copy of what is behind the arc: what each box got and gave.

import { useState } from "react";
import { post, type ArcFacts } from "../../wire/api";
import { shown, type Row } from "./Monitor";

interface Props {
  arc: ArcFacts;
  typed: string;
  onChange(text: string): void;
  onClose(): void;
}

export function Trace({ arc, typed, onChange, onClose }: Props) {
  const [traced, setTraced] = useState<Record<string, Row[]> | null>(null);
  const [error, setError] = useState<string | null>(null);
  const run = () => {
    let rows: Row[];
    try {
      const said: unknown = JSON.parse(typed);
      rows = (Array.isArray(said) ? said : [said]) as Row[];
    } catch (mistake) {
      setError((mistake as Error).message);
      return;
    }
    post<{ tuples: Record<string, Row[]> }>("sample/trace", { arc: arc.name, rows }).then(
      ({ tuples }) => {
        setTraced(tuples);
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
        <button className="primary" onClick={run}>Run it</button>
        <button onClick={onClose}>Close</button>
      </div>
      {error && <p className="small error" role="alert">{error}</p>}
      {traced && (
        <ol className="hops">
          {Object.entries(traced).map(([port, rows]) => (
            <li key={port}>
              <b>{port}</b> <span className="small">{rows.length} tuple{rows.length === 1 ? "" : "s"}</span>
              {rows.slice(0, 3).map((row, place) => (
                <code key={place}>{Object.entries(row).map(([name, value]) => `${name} ${shown(value)}`).join(" · ")}</code>
              ))}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
