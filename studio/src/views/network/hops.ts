// The way of some tuples from box to box.

import type { ArcFacts, BoxFacts, NetworkFacts } from "../../wire/api";
import type { Row } from "./Monitor";

export interface Hop {
  box: string;
  kind: string;
  got: Row[];
  /** An output gives nothing on. */
  gave: Row[] | null;
}

/** What each box behind an arc got and gave, in the order in which the tuples come to them. */
export function hops(network: NetworkFacts, arc: ArcFacts, rows: Row[], tuples: Record<string, Row[]>): Hop[] {
  // A box that needs other tuples too was not run.
  const ran = (box: BoxFacts) => (box.outputs.length ? box.outputs.some((port) => `${box.name}.${port}` in tuples) : box.name in tuples);
  const left = new Map(network.boxes.filter((box) => box.name !== arc.begin && ran(box)).map((box) => [box.name, box]));
  const found: Hop[] = [];
  while (left.size) {
    const ready = [...left.values()].find((box) => !network.arcs.some((one) => one.end === box.name && left.has(one.begin)));
    const box = ready ?? [...left.values()][0]!;
    left.delete(box.name);
    const coming = network.arcs.filter((one) => one.end === box.name);
    const got = coming.flatMap((one) => (one.name === arc.name ? rows : (tuples[`${one.begin}.${one.begin_port}`] ?? [])));
    const gave = box.outputs.length ? box.outputs.flatMap((port) => tuples[`${box.name}.${port}`] ?? []) : null;
    if (coming.length) found.push({ box: box.name, kind: box.kind.replaceAll("_", " "), got, gave });
  }
  return found;
}
