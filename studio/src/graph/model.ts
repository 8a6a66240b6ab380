// What is visible of a network: groups are closed or open in the model, not in the layout.

import type { ArcFacts, NetworkFacts } from "../wire/api";

export interface Item {
  id: string;
  kind: "box" | "group";
  /** Of a group: all boxes in it, also those of groups within. */
  members: string[];
  /** The open group that it stands in. */
  within: string | null;
  open: boolean;
}

export interface Way {
  id: string;
  begin: string;
  end: string;
  /** The names of the arcs that it stands for. */
  arcs: string[];
  shuffles: boolean;
}

export interface Visible {
  items: Item[];
  ways: Way[];
}

export const groupId = (name: string) => `group:${name}`;

/** The group that directly holds each group and box: the smallest one that has all of it. */
export function holders(network: Pick<NetworkFacts, "boxes" | "groups">): Map<string, string> {
  const groups = Object.entries(network.groups)
    .map(([name, boxes]) => ({ name, boxes: new Set(boxes) }))
    .sort((a, b) => a.boxes.size - b.boxes.size);
  const found = new Map<string, string>();
  for (const box of network.boxes) {
    const group = groups.find((one) => one.boxes.has(box.name));
    if (group) found.set(box.name, groupId(group.name));
  }
  groups.forEach((group, place) => {
    const holder = groups.slice(place + 1).find((one) => [...group.boxes].every((box) => one.boxes.has(box)));
    if (holder) found.set(groupId(group.name), groupId(holder.name));
  });
  return found;
}

export function visible(network: NetworkFacts, open: ReadonlySet<string>): Visible {
  const holder = holders(network);
  const isOpen = (id: string) => open.has(id.slice("group:".length));
  const shown = (id: string): boolean => {
    const above = holder.get(id);
    return !above || (isOpen(above) && shown(above));
  };
  const standIn = (id: string): string => {
    const above = holder.get(id);
    if (!above) return id;
    const higher = standIn(above);
    return higher !== above ? higher : isOpen(above) ? id : above;
  };
  const items: Item[] = [];
  for (const [name, boxes] of Object.entries(network.groups)) {
    const id = groupId(name);
    if (boxes.length && shown(id)) {
      items.push({ id, kind: "group", members: boxes, within: holder.get(id) ?? null, open: isOpen(id) });
    }
  }
  for (const box of network.boxes) {
    if (shown(box.name)) {
      items.push({ id: box.name, kind: "box", members: [box.name], within: holder.get(box.name) ?? null, open: false });
    }
  }
  const ways = new Map<string, Way>();
  for (const arc of network.arcs) {
    const begin = standIn(arc.begin);
    const end = standIn(arc.end);
    if (begin === end) continue;
    const id = `${begin}→${end}`;
    const way = ways.get(id);
    if (way) {
      way.arcs.push(arc.name);
      way.shuffles ||= arc.shuffles;
    } else ways.set(id, { id, begin, end, arcs: [arc.name], shuffles: arc.shuffles });
  }
  return { items, ways: [...ways.values()] };
}

/** The groups that must be open for a box to be seen. */
export function wayTo(network: NetworkFacts, box: string): string[] {
  const holder = holders(network);
  const names: string[] = [];
  for (let above = holder.get(box); above; above = holder.get(above)) names.push(above.slice("group:".length));
  return names;
}

/** The outputs that each arc leads to, by its name. */
export function outputsBehind(network: Pick<NetworkFacts, "boxes" | "arcs">): Map<string, string[]> {
  const outputs = new Set(network.boxes.filter((box) => box.kind === "output").map((box) => box.name));
  const leaving = new Map<string, string[]>();
  for (const arc of network.arcs) leaving.set(arc.begin, [...(leaving.get(arc.begin) ?? []), arc.end]);
  const known = new Map<string, ReadonlySet<string>>();
  const behind = (box: string): ReadonlySet<string> => {
    const before = known.get(box);
    if (before) return before;
    const found = new Set(outputs.has(box) ? [box] : []);
    known.set(box, found);
    for (const next of leaving.get(box) ?? []) for (const output of behind(next)) found.add(output);
    return found;
  };
  return new Map(network.arcs.map((arc) => [arc.name, [...behind(arc.end)].sort()]));
}

/** The output that gets the very tuples of an arc: the one at its end, or one that the same port feeds. */
export function outputOf(network: Pick<NetworkFacts, "boxes" | "arcs">, arc: Pick<ArcFacts, "begin" | "begin_port" | "end">): string | null {
  const outputs = new Set(network.boxes.filter((box) => box.kind === "output").map((box) => box.name));
  if (outputs.has(arc.end)) return arc.end;
  return network.arcs.find((one) => one.begin === arc.begin && one.begin_port === arc.begin_port && outputs.has(one.end))?.end ?? null;
}

/** The output whose rows a query on a connection point or view gives: one of the same stream, asked for whole rows. */
export function outputAsked(network: Pick<NetworkFacts, "boxes" | "arcs">, place: string, query: string): string | null {
  const whole = /^\s*select\s+\*\s+from\s+("?)([^\s";]+)\1(\s+where\s[^;]*)?;?\s*$/i.exec(query);
  if (whole?.[2] !== place || /\b(union|group\s+by|join|intersect|except)\b/i.test(whole[3] ?? "")) return null;
  const before = network.arcs.find((arc) => arc.end === place);
  const behind = network.arcs.find((arc) => arc.begin === place);
  return (before && outputOf(network, before)) ?? (behind && outputOf(network, behind)) ?? null;
}

export interface Hit {
  /** A box, or the name of an arc. */
  target: string;
  kind: "box" | "group" | "arc";
  title: string;
  detail: string;
  score: number;
}

/** Search over names, kinds, arguments, descriptions and columns. */
export function search(network: NetworkFacts, text: string, most = 30): Hit[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hits: Hit[] = [];
  const consider = (hit: Omit<Hit, "score">, fields: [weight: number, text: string][]) => {
    let score = 0;
    for (const word of words) {
      const best = Math.max(0, ...fields.map(([weight, value]) => match(value.toLowerCase(), word) * weight));
      if (!best) return;
      score += best;
    }
    hits.push({ ...hit, score });
  };
  for (const box of network.boxes) {
    const values = Object.entries(box.arguments).map(([name, value]) => `${name} ${value}`);
    consider({ target: box.name, kind: "box", title: box.name, detail: `${box.kind.replaceAll("_", " ")} · ${box.summary}` }, [
      [10, box.name],
      [6, box.kind],
      [3, values.join(" ")],
      [2, box.summary],
    ]);
  }
  for (const [name, boxes] of Object.entries(network.groups)) {
    consider({ target: name, kind: "group", title: name, detail: `group of ${boxes.length}` }, [[8, name]]);
  }
  for (const arc of network.arcs) {
    const columns = Object.keys(arc.columns).join(", ");
    consider({ target: arc.name, kind: "arc", title: arc.name, detail: columns }, [
      [3, arc.name],
      [2, columns],
    ]);
  }
  return hits.sort((a, b) => b.score - a.score || a.title.localeCompare(b.title)).slice(0, most);
}

function match(text: string, word: string): number {
  if (text === word) return 3;
  if (text.startsWith(word)) return 2;
  return text.includes(word) ? 1 : 0;
}
