// Rows of an answer as lines over time.

import type uPlot from "uplot";
import type { Row } from "../network/Monitor";

export const MOST_LINES = 6;
const MOST_LOOKED_AT = 500;
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

export interface Plotted {
  time: string;
  dated: boolean;
  names: string[];
  /** The one column that all lines show, if they do; else the lines have the names of their columns. */
  measure: string | null;
  /** Where rows of one time are told apart by others: the columns that can be plotted, one at a time. */
  choices: string[];
  /** How many more lines there would be. */
  left: number;
  data: uPlot.AlignedData;
}

/** Rows as lines: sorted by time, which is the column of that name or the first one.
 *
 * Where several rows have the same time, the columns that tell them apart are not lines: each of their values has its own,
 * of the column that is chosen. */
export function plotted(columns: string[], rows: Row[], chosen?: string): Plotted {
  const time = columns.find((name) => name === "time") ?? columns[0] ?? "";
  const dated = typeof rows[0]?.[time] === "string";
  const at = (row: Row) => (dated ? Date.parse(`${String(row[time])}Z`) / 1000 : Number(row[time]));
  const others = columns.filter((name) => name !== time && name !== "sign");
  const key = keyOf(time, others, rows.slice(-MOST_LOOKED_AT));
  const numbers = others.filter((name) => !key.includes(name) && rows.slice(0, 50).some((row) => typeof row[name] === "number"));
  const choices = key.length && numbers.length > 1 ? numbers : [];
  const values = choices.length ? [choices.find((name) => name === chosen) ?? choices[0]!] : numbers;
  const more = new Set<string>();
  const times = [...new Set(rows.map(at))].filter(Number.isFinite).sort((a, b) => a - b);
  const place = new Map(times.map((one, number) => [one, number]));
  const lines = new Map<string, (number | null)[]>();
  for (const row of rows) {
    const number = place.get(at(row));
    if (number === undefined) continue;
    for (const name of values) {
      const of = key.map((column) => `${column} ${String(row[column])}`).join(", ");
      const title = of || name;
      if (!lines.has(title) && lines.size >= MOST_LINES) {
        more.add(title);
        continue;
      }
      const line = lines.get(title) ?? new Array<number | null>(times.length).fill(null);
      lines.set(title, line);
      if (typeof row[name] === "number") line[number] = row[name];
    }
  }
  const names = [...lines.keys()];
  return { time, dated, names, measure: values.length === 1 ? values[0]! : null, choices, left: more.size, data: [times, ...lines.values()] as uPlot.AlignedData };
}

/** The first column, or the first two, that tell rows of one time apart; none if times differ, or nothing does. */
function keyOf(time: string, others: string[], rows: Row[]): string[] {
  const apart = (key: string[]) => new Set(rows.map((row) => JSON.stringify([row[time], ...key.map((name) => row[name])]))).size === rows.length;
  if (apart([])) return [];
  for (const one of others) if (apart([one])) return [one];
  for (const one of others) for (const other of others) if (one < other && apart([one, other])) return [one, other];
  return [];
}
