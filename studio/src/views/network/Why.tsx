// Why a row of an output is as it is: what each box did, back to the tuples of the sources.

import { useEffect, useState } from "react";
import { Editor, useFunctions } from "../../parts/Editor";
import { post, Refused } from "../../wire/api";
import { shown, TupleTable, type Row } from "./Monitor";

interface Tuple {
  number: number;
  values: Row;
  source?: string;
  needed?: boolean | null;
}

interface Said {
  steps: { box: string; kind: string; made: number; made_of: number[]; words: string }[];
  tuples: Tuple[];
  also_needed: Tuple[];
  in_scope: number;
  tried: number;
  notes: string[];
}

const MOST = 20;

/** A row that is asked about: by its values, or by a condition. */
export type AskedRow = { row: Row } | { where: string };

/** Ask about a row of an output in words; also where the run is over and no row passes any more. */
export function AskWhy({ output, columns }: { output: string; columns: Record<string, string> }) {
  const [where, setWhere] = useState("");
  const [asked, setAsked] = useState<AskedRow | null>(null);
  const functions = useFunctions();
  const ask = () => where.trim() && setAsked({ where });
  return (
    <section data-testid="ask-why">
      <h3>Why is a row as it is?</h3>
      <form
        className="line"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <Editor one label={`A row of ${output}`} value={where} onChange={setWhere} onSubmit={ask} columns={columns} functions={functions} placeholder={`the row where… e.g. ${Object.keys(columns)[0]} = 1`} />
        <button disabled={!where.trim()}>Why?</button>
      </form>
      {asked && <Why output={output} asked={asked} columns={Object.keys(columns)} onAsk={(row) => setAsked({ row })} onClose={() => setAsked(null)} />}
    </section>
  );
}

interface Props {
  output: string;
  asked: AskedRow;
  /** Where several rows fit, they are listed, and one of them can be asked about. */
  columns?: string[];
  onAsk?(row: Row): void;
  onClose(): void;
}

export function Why({ output, asked, columns, onAsk, onClose }: Props) {
  const [said, setSaid] = useState<Said | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [several, setSeveral] = useState<Row[]>([]);
  useEffect(() => {
    setSaid(null);
    setError(null);
    setSeveral([]);
    let gone = false;
    post<Said>("why", { output, ...asked }).then(
      (found) => gone || setSaid(found),
      (mistake: Error) => {
        if (gone) return;
        setError(mistake.message);
        if (mistake instanceof Refused) setSeveral(mistake.rows ?? []);
      },
    );
    return () => {
      gone = true;
    };
  }, [output, asked]);
  const boxes = new Map<string, Said["steps"]>();
  for (const step of said?.steps ?? []) boxes.set(`${step.box} (${step.kind})`, [...(boxes.get(`${step.box} (${step.kind})`) ?? []), step]);
  const came = said?.tuples.filter((one) => one.source) ?? [];
  return (
    <div className="trace" data-testid="why">
      <p className="small">Why <code>{"where" in asked ? asked.where : values(asked.row)}</code>? The input is read again; the run is not touched.</p>
      {!said && !error && <p className="small" role="status">Reading the input again…</p>}
      {error && <p className="small error" role="alert">{error}</p>}
      {several.length > 0 && onAsk && columns && <TupleTable columns={columns} rows={several.toReversed()} onWhy={onAsk} />}
      {said && (
        <ol className="hops">
          {[...boxes].map(([name, steps]) => (
            <li key={name}>
              <b>{name}</b>
              {steps.slice(0, MOST).map((step) => (
                <code key={step.made}>#{step.made}{step.made_of.length === 1 && step.made_of[0] === step.made ? "" : ` from ${step.made_of.slice(0, MOST).map((one) => `#${one}`).join(" ")}`}: {step.words}</code>
              ))}
            </li>
          ))}
          <li>
            <b>Tuples of the sources</b> <span className="small">each of {said.tried} was left out once to see{said.tried < said.in_scope ? `, of ${said.in_scope}` : ""}</span>
            {[...came, ...said.also_needed].slice(0, 5 * MOST).map((one) => (
              <code key={one.number}>#{one.number} {one.source}: {values(one.values)} {one.needed ? "needed" : one.needed === false ? "used" : "not tried"}</code>
            ))}
          </li>
          {said.notes.map((note) => <li key={note} className="small">{note}</li>)}
        </ol>
      )}
      <button onClick={onClose}>Close</button>
    </div>
  );
}

function values(row: Row): string {
  return Object.entries(row).map(([name, value]) => `${name} ${shown(value)}`).join(" · ");
}
