// How much of a box is shown: the closer one is, the more.

import type { BoxFacts } from "../../wire/api";

/** Far: names and colours. Nearer: kind, rate and cost. Near: arguments too. */
export type Detail = "far" | "nearer" | "near";

const NEARER = 0.62;
const NEAR = 0.95;

export function detailAt(zoom: number): Detail {
  return zoom > NEAR ? "near" : zoom > NEARER ? "nearer" : "far";
}

const LONGEST = 80;

/** The arguments of a box in a line; a number or a single word has its name before it. */
export function argumentsInShort({ arguments: said }: Pick<BoxFacts, "arguments">): string {
  const text = Object.entries(said).map(([name, value]) => (/^(\d|[\w.]+$)/.test(value) ? `${name.replaceAll("_", " ")} ${value}` : value)).join("; ");
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** What a tuple costs, in the unit that needs the fewest digits. */
export function costInWords(seconds: number): string {
  const micros = 1e6 * seconds;
  if (micros >= 1e6) return `${Number(seconds.toPrecision(2))} s`;
  if (micros >= 1000) return `${Number((micros / 1000).toPrecision(2))} ms`;
  return micros >= 10 ? `${Math.round(micros)} µs` : `${micros.toPrecision(2)} µs`;
}
