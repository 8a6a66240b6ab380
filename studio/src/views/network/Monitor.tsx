// An arc monitor: the tuples that pass, as they pass; filtered, paused, exported, or stopped at.

import { useEffect, useRef, useState } from "react";
import { rowsOf } from "../../wire/frames";
import type { Go } from "../../address";
import { blob, post, theLive, type ArcFacts, type NetworkFacts } from "../../wire/api";
import { Editor, useFunctions } from "../../parts/Editor";
import { Trace } from "./Trace";
import { Why, type AskedRow } from "./Why";

export type Row = Record<string, unknown>;

const MOST = 500;

export function Monitor({ arc, network, go, active, output = null }: { arc: ArcFacts; network: NetworkFacts; go: Go; active: boolean; output?: string | null }) {
  const [why, setWhy] = useState<AskedRow | null>(null);
  const [where, setWhere] = useState("");
  const [asked, setAsked] = useState<string | null>(active ? "" : null);
  const [rows, setRows] = useState<Row[]>([]);
  const [passed, setPassed] = useState(0);
  const [paused, setPaused] = useState(false);
  const [message, setMessage] = useState<string | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const [breaking, setBreaking] = useState<(() => void) | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const waiting = useRef<Row[]>([]);
  const stopped = useRef(paused);
  stopped.current = paused;

  useEffect(() => {
    if (asked === null) return;
    setMessage(null);
    setWrong(null);
    // Tuples come many at a time; the table is drawn at most five times a second.
    const timer = setInterval(() => {
      if (!waiting.current.length || stopped.current) return;
      const more = waiting.current;
      waiting.current = [];
      setPassed((number) => number + more.length);
      setRows((before) => [...before, ...more].slice(-MOST));
    }, 200);
    const close = theLive().open(
      "tuples",
      { arc: arc.name, where: asked },
      {
        frame: (frame) => {
          const found = rowsOf(frame);
          if (found) waiting.current = [...waiting.current, ...asRows(found)].slice(-5000);
        },
        error: setWrong,
        end: () => setMessage("the run is over; nothing passes any more"),
      },
    );
    return () => {
      clearInterval(timer);
      close();
    };
  }, [arc.name, asked]);

  const breakAt = () => {
    setWrong(null);
    setMessage("goes on train by train until a tuple passes…");
    const close = theLive().open(
      "breakpoint",
      { arc: arc.name, where },
      {
        frame: (frame) => {
          const found = rowsOf(frame);
          if (!found) return;
          setMessage(`stopped behind step ${String(frame.header.hit)}: ${found.height} tuple${found.height > 1 ? "s" : ""} passed. Step or resume above.`);
          setRows((before) => [...before, ...asRows(found)].slice(-MOST));
          setBreaking(null);
        },
        error: (mistake) => {
          setMessage(null);
          setWrong(mistake);
          setBreaking(null);
        },
        end: () => setBreaking(null),
      },
    );
    setBreaking(() => close);
  };

  const filter = () => {
    setRows([]);
    setPassed(0);
    waiting.current = [];
    setAsked(where);
  };
  const functions = useFunctions();
  const columns = Object.keys(arc.columns);
  const save = () => download(`${arc.begin}-${arc.end}.csv`, csv(columns, rows));
  const saveParquet = () =>
    blob("sample/parquet", { arc: arc.name, rows }).then(
      (file) => download(`${arc.begin}-${arc.end}.parquet`, file),
      (mistake: Error) => setWrong(mistake.message),
    );
  const saveTest = () =>
    post<{ text: string }>("sample/test", { arc: arc.name, rows }).then(
      ({ text }) => download(`test_${arc.begin}_${arc.end}.py`.replace(/[^\w.]/g, "_"), text),
      (mistake: Error) => setWrong(mistake.message),
    );
  return (
    <section className="monitor" data-testid="monitor">
      <h3>Tuples as they pass</h3>
      <form
        className="line"
        onSubmit={(event) => {
          event.preventDefault();
          filter();
        }}
      >
        {active ? (
          <Editor one label="Only tuples for which this is true" value={where} onChange={setWhere} onSubmit={filter} columns={arc.columns} functions={functions} error={wrong} placeholder={`only where… e.g. ${columns[columns.length - 1]} > 0`} />
        ) : (
          <p className="small">The run is over: nothing passes here any more. What its connection points keep can be asked under Ask.</p>
        )}
        {active && <button>Filter</button>}
      </form>
      <div className="line">
        {active && <button onClick={() => setPaused(!paused)} aria-pressed={paused} title="Let the table stand still; the run goes on">{paused ? "Go on" : "Hold the table"}</button>}
        {active && (breaking ? (
          <button onClick={() => { breaking(); setBreaking(null); setMessage(null); }}>Let it run</button>
        ) : (
          <button onClick={breakAt} title="Stop the run behind the train in which such a tuple passes">Break here</button>
        ))}
        <button onClick={() => setTyped(rows.length ? JSON.stringify(rows[rows.length - 1]) : blank(arc))}>Try a tuple</button>
      </div>
      {(active || rows.length > 0) && (
        <div className="line">
          <span className="small">Save:</span>
          <button onClick={save} disabled={!rows.length}>CSV</button>
          <button onClick={saveParquet} disabled={!rows.length}>Parquet</button>
          <button onClick={saveTest} disabled={!rows.length} title="A pytest file: these tuples, and what comes of them">As a test</button>
        </div>
      )}
      {message && <p className="small" role="status" data-testid="monitor-message">{message}</p>}
      {wrong && <p className="small error" role="alert">{wrong}</p>}
      {typed !== null && <Trace arc={arc} network={network} go={go} typed={typed} onChange={setTyped} onClose={() => setTyped(null)} />}
      {(active || rows.length > 0) && <p className="small">{passed.toLocaleString("en")} seen{rows.length < passed ? `, the last ${rows.length} kept` : ""}. At most 500 of a step and slot are shown.</p>}
      {why && output && <Why output={output} asked={why} onClose={() => setWhy(null)} />}
      {(active || rows.length > 0) && <TupleTable columns={columns} rows={rows} onWhy={output ? (row) => setWhy({ row }) : undefined} />}
    </section>
  );
}

/** Tuples that are typed, through a copy of what is behind an arc of a network that does not run. */
export function TryTuples({ arc, network, go }: { arc: ArcFacts; network: NetworkFacts; go: Go }) {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <section>
      <div className="line">
        <button onClick={() => setTyped(blank(arc))}>Try a tuple</button>
      </div>
      {typed !== null && <Trace arc={arc} network={network} go={go} typed={typed} onChange={setTyped} onClose={() => setTyped(null)} />}
    </section>
  );
}

const blank = (arc: ArcFacts) => JSON.stringify(Object.fromEntries(Object.entries(arc.columns).map(([name, kind]) => [name, kind === "string" ? "" : kind === "bool" ? false : kind.startsWith("timestamp") ? "2026-01-01 00:00:00" : 0])));

export function TupleTable({ columns, rows, most = 100, onWhy }: { columns: string[]; rows: Row[]; most?: number; onWhy?: (row: Row) => void }) {
  return (
    <div className="tuples" tabIndex={0} role="region" aria-label="Tuples">
      <table>
        <thead><tr>{columns.map((name) => <th key={name}>{name}</th>)}{onWhy && <th aria-label="Why" />}</tr></thead>
        <tbody>
          {rows.slice(-most).reverse().map((row, place) => (
            <tr key={rows.length - place}>
              {columns.map((name) => <td key={name}>{shown(row[name])}</td>)}
              {onWhy && <td><button className="small" onClick={() => onWhy(row)} title="Which tuples caused this row">Why</button></td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function asRows(found: NonNullable<ReturnType<typeof rowsOf>>): Row[] {
  const rows: Row[] = [];
  for (let place = 0; place < found.height; place++) {
    rows.push(Object.fromEntries(found.names.map((name) => [name, found.value(name, place) ?? null])));
  }
  return rows;
}

export function csv(columns: string[], rows: Row[]): string {
  const cell = (value: unknown) => {
    if (value === null || value === undefined) return "";
    const text = String(value);
    // An empty text is quoted: nothing at all between two commas is a null.
    return text === "" || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((line) => line.map(cell).join(",")).join("\n") + "\n";
}

export function download(name: string, file: string | Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(typeof file === "string" ? new Blob([file], { type: "text/plain" }) : file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function shown(value: unknown): string {
  if (value === null || value === undefined) return "∅";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toPrecision(6).replace(/\.?0+$/, "");
  return String(value);
}
