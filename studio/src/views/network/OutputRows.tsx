// The last rows that an output got, as they come, each with the question why.

import { useEffect, useState } from "react";
import { theLive, type ArcFacts } from "../../wire/api";
import { rowsOf } from "../../wire/frames";
import { asRows, TupleTable, type Row } from "./Monitor";
import { Why } from "./Why";

const MOST = 20;
const SHOW_SECONDS = 0.5;

export function OutputRows({ arc, output }: { arc: ArcFacts; output: string }) {
  const [rows, setRows] = useState<Row[]>([]);
  const [asked, setAsked] = useState<{ row: Row } | null>(null);
  const [error, setError] = useState<string | null>(null);
  // Rows would run away under the pointer: they stand still while one of them is asked about.
  const still = asked !== null;
  useEffect(() => {
    if (still) return;
    let last: Row[] = [];
    const timer = setInterval(() => {
      if (!last.length) return;
      const more = last;
      last = [];
      setRows((before) => [...before, ...more].slice(-MOST));
    }, 1000 * SHOW_SECONDS);
    const close = theLive().open(
      "tuples",
      { arc: arc.name },
      {
        frame: (frame) => {
          const found = rowsOf(frame);
          if (found) last = [...last, ...asRows(found)].slice(-MOST);
        },
        error: setError,
      },
    );
    return () => {
      clearInterval(timer);
      close();
    };
  }, [arc.name, still]);
  return (
    <section data-testid="output-rows">
      <h3>The last rows</h3>
      {error && <p className="small error" role="alert">{error}</p>}
      {!rows.length && <p className="small">None has come since this page was opened.</p>}
      {asked && <Why output={output} asked={asked} onClose={() => setAsked(null)} />}
      {rows.length > 0 && <TupleTable columns={Object.keys(arc.columns)} rows={rows} onWhy={(row) => setAsked({ row })} />}
    </section>
  );
}
