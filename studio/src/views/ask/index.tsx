// Ask a run: an ad-hoc query on a connection point or view, its history first, then live.

import { useEffect, useRef, useState } from "react";
import type { ViewProps } from "..";
import { theLive } from "../../wire/api";
import { rowsOf } from "../../wire/frames";
import { outputAsked } from "../../graph/model";
import { asRows, csv, download, TupleTable, type Row } from "../network/Monitor";
import { Why, type AskedRow } from "../network/Why";
import { Editor, useFunctions } from "../../parts/Editor";
import { Plot } from "./Plot";

const MOST = 20_000;

export default function AskView({ subject, network, address, go }: ViewProps) {
  const place = address.values.place ?? subject.places[0] ?? "";
  const [query, setQuery] = useState(address.values.query ?? `SELECT * FROM ${place}`);
  const [since, setSince] = useState(address.values.since ?? "");
  const [answer, setAnswer] = useState<Answer>(NONE);
  const close = useRef<(() => void) | null>(null);
  useEffect(() => () => close.current?.(), []);
  const functions = useFunctions();
  const columns = network.arcs.find((arc) => arc.end === place)?.columns ?? {};
  const output = answer.asked === null ? null : outputAsked(network, place, answer.asked);
  const [why, setWhy] = useState<AskedRow | null>(null);
  const ofOutput = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([name]) => name in columns));

  const ask = () => {
    close.current?.();
    go({ place, query, since: since || null });
    setAnswer({ ...NONE, state: "asked", asked: query });
    setWhy(null);
    let rows: Row[] = [];
    let number = 0;
    let due = false;
    let dated = false;
    const show = (more: Partial<Answer>) => setAnswer((before) => ({ ...before, ...more, rows, number }));
    close.current = theLive().open(
      "rows",
      { place, query, since },
      {
        frame: (frame) => {
          const { outputs, through, ended } = frame.header;
          const found = rowsOf(frame);
          if (found) {
            const more = asRows(found);
            number += more.length;
            rows = rows.length + more.length > MOST ? [...rows, ...more].slice(-MOST) : [...rows, ...more];
          }
          if (outputs) {
            const of = Object.values(outputs as Record<string, Record<string, string>>)[0] ?? {};
            dated = Object.values(of).some((kind) => kind.startsWith("timestamp"));
          }
          if (outputs) show({ columns: Object.keys(Object.values(outputs as Record<string, Record<string, string>>)[0] ?? {}), state: "live" });
          else if (ended !== undefined) show({ state: ended === "finished" ? "complete: the run is at its end" : `over: ${String(ended)}` });
          else if (through !== undefined || !due) {
            due = true;
            setTimeout(() => {
              due = false;
              show(through !== undefined && Math.abs(Number(through)) < 4e18 ? { through: whenOf(String(through), dated) } : {});
            }, 100);
          }
        },
        error: (mistake) => show({ state: "not attached", error: mistake }),
        end: () => setAnswer((before) => (before.state === "live" ? { ...before, state: "over" } : before)),
      },
    );
  };
  // An address with a query brings its answer back.
  useEffect(() => {
    if (address.values.query) ask();
  }, []); // eslint-disable-line
  const detach = () => {
    close.current?.();
    close.current = null;
    setAnswer((before) => ({ ...before, state: "detached" }));
  };
  if (!subject.places.length) {
    return <p className="notice">The run keeps no connection point and has no view, so there is nothing to ask. Draw one: <code>stream.connection_point("kept", "1 hour")</code>.</p>;
  }
  return (
    <div className="ask">
      <form
        className="ask-form"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <div className="line">
          <label>
            Ask
            <select value={place} onChange={(event) => { go({ place: event.target.value }); setQuery(`SELECT * FROM ${event.target.value}`); }} aria-label="Connection point or view">
              {subject.places.map((name) => <option key={name}>{name}</option>)}
            </select>
          </label>
          <label>
            since
            <input value={since} onChange={(event) => setSince(event.target.value)} placeholder="all that is kept" title="How far back: all that is kept, or a time such as 1 hour" aria-label="Since" />
          </label>
          <span className="grow" />
          <button className="primary">Attach</button>
          {answer.state === "live" && <button type="button" onClick={detach}>Detach</button>}
          <button type="button" disabled={!answer.rows.length} onClick={() => download(`${place}.csv`, csv(answer.columns, answer.rows))}>Save CSV</button>
        </div>
        <Editor sql label="SQL" value={query} onChange={setQuery} onSubmit={ask} columns={columns} functions={functions} places={subject.places} error={answer.error} />
        <p className="small">
          Columns of {place}: {Object.entries(columns).map(([name, kind]) => `${name} ${kind}`).join(", ") || "see the network"}. Ctrl Enter attaches. The query runs beside the run, which is not touched.
        </p>
      </form>
      <div className="answer">
        <p className="small" role="status" data-testid="answer-state">
          {answer.state === "none" ? "No query is attached yet: its answer comes here, what is kept first, then live." : `${answer.state}${answer.through && !answer.state.startsWith("complete") ? `, complete through ${answer.through}` : ""}`}
          {answer.number ? ` · ${answer.number.toLocaleString("en")} rows` : ""}
        </p>
        {answer.state === "none" && (
          <p className="line small">
            Begin with{" "}
            {examples(place, columns, network.arcs.find((arc) => arc.end === place)?.time).map(([title, text]) => (
              <button key={title} type="button" onClick={() => setQuery(text)}>{title}</button>
            ))}
          </p>
        )}
        {answer.state === "live" && !answer.rows.length && <p className="small">No row has come yet.</p>}
        {answer.error && <pre className="error" role="alert">{answer.error}</pre>}
        {why && output && <Why output={output} asked={why} onClose={() => setWhy(null)} />}
        {answer.rows.length > 1 && <Plot columns={answer.columns} rows={answer.rows} />}
        {answer.columns.length > 0 && <TupleTable columns={answer.columns.filter((name) => name !== "sign" || answer.rows.some((row) => row.sign !== 1))} rows={answer.rows} most={300} onWhy={output ? (row) => setWhy({ row: ofOutput(row) }) : undefined} />}
      </div>
    </div>
  );
}

/** Queries to begin with: all of it, and how many a minute. */
function examples(place: string, columns: Record<string, string>, time: string | undefined): [title: string, text: string][] {
  const number = Object.keys(columns).findLast((name) => name !== time && /^(int|float|double)/.test(columns[name]!));
  const found: [string, string][] = [["all that is kept", `SELECT * FROM ${place}`]];
  if (time) found.push(["how many a minute", `SELECT count(*) AS n FROM ${place} GROUP BY TUMBLE(${time}, '1 minute')`]);
  if (time && number) found.push([`the mean of ${number}`, `SELECT avg(${number}) AS mean FROM ${place} GROUP BY TUMBLE(${time}, '1 minute')`]);
  return found;
}

/** The time through which an answer is complete, as its rows write it. */
function whenOf(through: string, dated: boolean): string {
  return dated ? new Date(Number(through) / 1000).toISOString().replace("T", " ").replace(/\.?0*Z$/, "") : through;
}

interface Answer {
  state: string;
  /** The query that it answers. */
  asked: string | null;
  error: string | null;
  columns: string[];
  rows: Row[];
  number: number;
  through: string | null;
}

const NONE: Answer = { state: "none", asked: null, error: null, columns: [], rows: [], number: 0, through: null };
