// Places what is visible, from left to right, and leads the arcs around boxes. Open groups are areas around their parts.

import dagre from "@dagrejs/dagre";
import type { Visible } from "./model";

export interface Size {
  width: number;
  height: number;
}

export interface Placed extends Size {
  /** From the corner of the whole. */
  x: number;
  y: number;
}

export interface Layout {
  items: Record<string, Placed>;
  /** The points that an arc passes, from box to box. */
  ways: Record<string, { x: number; y: number }[]>;
  /** Where the label of an arc has its middle. */
  labels: Record<string, { x: number; y: number }>;
}

export const BOX: Size = { width: 172, height: 70 };
/** Room for the label of an arc. */
const LABEL: Size = { width: 58, height: 18 };
/** An area's title is so high, and so much room is around its parts. */
const HEAD = 30;
const PAD = 16;

export function layout(shown: Visible): Layout {
  const graph = new dagre.graphlib.Graph({ compound: true });
  graph.setGraph({ rankdir: "LR", nodesep: 32, ranksep: 20, edgesep: 18 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const item of shown.items) graph.setNode(item.id, item.open ? {} : { ...BOX });
  for (const item of shown.items) if (item.within) graph.setParent(item.id, item.within);
  for (const way of shown.ways) graph.setEdge(way.begin, way.end, { ...LABEL, labelpos: "c" });
  dagre.layout(graph);
  const items: Record<string, Placed> = {};
  for (const item of shown.items) {
    if (item.open) continue;
    const { x, y } = graph.node(item.id) as { x: number; y: number };
    items[item.id] = { x: x - BOX.width / 2, y: y - BOX.height / 2, ...BOX };
  }
  // An area is as large as its parts need, the innermost first.
  const around = (id: string): Placed => {
    const parts = shown.items.filter((item) => item.within === id).map((item) => items[item.id] ?? around(item.id));
    const left = Math.min(...parts.map((part) => part.x)) - PAD;
    const top = Math.min(...parts.map((part) => part.y)) - HEAD;
    const right = Math.max(...parts.map((part) => part.x + part.width)) + PAD;
    const bottom = Math.max(...parts.map((part) => part.y + part.height)) + PAD;
    return (items[id] = { x: left, y: top, width: right - left, height: bottom - top });
  };
  for (const item of shown.items) if (item.open && !items[item.id]) around(item.id);
  const ways: Layout["ways"] = {};
  const labels: Layout["labels"] = {};
  for (const way of shown.ways) {
    const found = graph.edge(way.begin, way.end) as { points?: { x: number; y: number }[]; x?: number; y?: number } | undefined;
    ways[way.id] = (found?.points ?? []).slice(1, -1);
    if (found?.x !== undefined && found.y !== undefined) labels[way.id] = { x: found.x, y: found.y };
  }
  straighten(shown, { items, ways, labels });
  return { items, ways, labels };
}

/** Lets ways from one column of boxes to the next go there at once, where their labels have room half-way. */
function straighten(shown: Visible, { items, ways, labels }: Layout) {
  const columns = new Map<number, { id: string; x: number; y: number }[]>();
  const others: { x: number; y: number }[] = [];
  for (const { id, begin, end } of shown.ways) {
    const [from, to] = [items[begin]!, items[end]!];
    const gap = to.x - (from.x + from.width);
    if (gap <= 0 || gap >= BOX.width) {
      others.push(...ways[id]!); // boxes stand between them
      continue;
    }
    const x = to.x - gap / 2;
    columns.set(Math.round(x), [...(columns.get(Math.round(x)) ?? []), { id, x, y: (from.y + to.y + to.height) / 2 }]);
  }
  for (const column of columns.values()) {
    const passing = others.filter(({ x }) => Math.abs(x - column[0]!.x) < LABEL.width);
    const levels = [...column, ...passing].map(({ y }) => y).sort((one, other) => one - other);
    if (levels.some((level, place) => place > 0 && level - levels[place - 1]! < LABEL.height + 4)) continue;
    for (const { id, x, y } of column) {
      labels[id] = { x, y };
      ways[id] = [];
    }
  }
}

/** A smooth way through points, level at each of them. */
export function smooth(points: readonly { x: number; y: number }[]): string {
  let path = "";
  points.forEach(({ x, y }, place) => {
    const before = points[place - 1];
    if (!before) {
      path = `M${x},${y}`;
      return;
    }
    const reach = Math.max(12, Math.abs(x - before.x) / 2);
    path += ` C${before.x + reach},${before.y} ${x - reach},${y} ${x},${y}`;
  });
  return path;
}
