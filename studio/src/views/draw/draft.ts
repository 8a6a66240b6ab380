// A network that is being drawn: plain data as the engine's JSON has it, and the functions that change it.

import type { components } from "../../wire/schema";
import type { Visible } from "../../graph/model";

export type Kind = components["schemas"]["Kind"];
export type Parameter = components["schemas"]["Parameter"];
export type Checked = components["schemas"]["Checked"];

export interface DraftBox {
  kind: string;
  name: string;
  [argument: string]: unknown;
}

export interface Draft {
  format: number;
  network: string;
  boxes: DraftBox[];
  arcs: [string, string][];
  groups: Record<string, string[]>;
}

export const EMPTY: Draft = { format: 1, network: "drawing", boxes: [], arcs: [], groups: {} };

/** A drawing stays in this tab of the browser while other views are looked at, and when the page is loaded again. */
export function keepDraft(subject: string, original: Draft, draft: Draft) {
  const key = `arterial.draft.${subject}`;
  try {
    if (JSON.stringify(draft) === JSON.stringify(original)) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify({ original, draft }));
  } catch {
    // without room it is not kept
  }
}

/** The drawing that was kept, if it was begun from the same network. */
export function keptDraft(subject: string, original: Draft): Draft | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(`arterial.draft.${subject}`) ?? "null") as { original: Draft; draft: Draft } | null;
    return kept && JSON.stringify(kept.original) === JSON.stringify(original) ? kept.draft : null;
  } catch {
    return null;
  }
}

export function addBox(draft: Draft, kind: Kind, from: string | null): [Draft, string] {
  const taken = new Set(draft.boxes.map((box) => box.name));
  let name = kind.kind;
  for (let number = 2; taken.has(name); number++) name = `${kind.kind}_${number}`;
  const box: DraftBox = { kind: kind.kind, name };
  if (kind.kind === "source") Object.assign(box, { schema: { schema: [["time", "int64"], ["value", "int64"]] }, time: "time" });
  const arcs = from && kind.inputs[0] ? [...draft.arcs, [from, `${name}.${kind.inputs[0]}`] as [string, string]] : draft.arcs;
  return [{ ...draft, boxes: [...draft.boxes, box], arcs }, name];
}

export function removeBox(draft: Draft, name: string): Draft {
  return {
    ...draft,
    boxes: draft.boxes.filter((box) => box.name !== name),
    arcs: draft.arcs.filter((arc) => arc.every((port) => boxOf(port) !== name)),
    groups: Object.fromEntries(Object.entries(draft.groups).map(([group, boxes]) => [group, boxes.filter((box) => box !== name)])),
  };
}

export function renameBox(draft: Draft, name: string, to: string): Draft {
  const port = (text: string) => (boxOf(text) === name ? `${to}.${portOf(text)}` : text);
  return {
    ...draft,
    boxes: draft.boxes.map((box) => (box.name === name ? { ...box, name: to } : box)),
    arcs: draft.arcs.map(([begin, end]) => [port(begin), port(end)]),
    groups: Object.fromEntries(Object.entries(draft.groups).map(([group, boxes]) => [group, boxes.map((box) => (box === name ? to : box))])),
  };
}

export function setArgument(draft: Draft, name: string, argument: string, value: unknown): Draft {
  return {
    ...draft,
    boxes: draft.boxes.map((box) => {
      if (box.name !== name) return box;
      const after = { ...box, [argument]: value };
      if (value === undefined) delete after[argument];
      return after;
    }),
  };
}

/** Lead a stream to an input, in the place of the one that came there before. */
export function connect(draft: Draft, begin: string | null, end: string): Draft {
  const others = draft.arcs.filter((arc) => arc[1] !== end);
  return { ...draft, arcs: begin ? [...others, [begin, end]] : others };
}

export function boxOf(port: string): string {
  return port.slice(0, port.lastIndexOf("."));
}

export function portOf(port: string): string {
  return port.slice(port.lastIndexOf(".") + 1);
}

export function shownDraft(draft: Draft): Visible {
  return {
    items: draft.boxes.map((box) => ({ id: box.name, kind: "box", members: [box.name], within: null, open: false })),
    ways: [...new Map(draft.arcs.map(([begin, end]) => {
      const id = `${boxOf(begin)}→${boxOf(end)}`;
      return [id, { id, begin: boxOf(begin), end: boxOf(end), arcs: [`${begin} → ${end}`], shuffles: false }];
    })).values()],
  };
}

/** What is different from the network that was opened, by box. */
export function differences(before: Draft, after: Draft): Record<string, "new" | "changed" | "gone"> {
  const found: Record<string, "new" | "changed" | "gone"> = {};
  const text = (draft: Draft, box: DraftBox) =>
    JSON.stringify([sorted(box), draft.arcs.filter(([, end]) => boxOf(end) === box.name).sort()]);
  for (const box of after.boxes) {
    const own = before.boxes.find((one) => one.name === box.name);
    if (!own) found[box.name] = "new";
    else if (text(before, own) !== text(after, box)) found[box.name] = "changed";
  }
  for (const box of before.boxes) if (!after.boxes.some((one) => one.name === box.name)) found[box.name] = "gone";
  return found;
}

function sorted(box: DraftBox): unknown {
  return Object.entries(box).filter(([, value]) => value !== null && value !== undefined).sort(([a], [b]) => a.localeCompare(b));
}

/** An argument as text in a form, and back. */
export function asText(parameter: Parameter, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (isSchema(value)) return value.schema.map(([name, kind]) => `${name} ${kind}`).join(", ");
  if (isValues(parameter)) return (value as [string, string][]).map(([name, text]) => `${name} = ${text}`).join("\n");
  if (isGraph(parameter)) return (value as [number, number][]).map(([x, y]) => `${x} ${y}`).join(", ");
  if (Array.isArray(value)) return value.join(", ");
  return String(value);
}

export function fromText(parameter: Parameter, text: string): unknown {
  const plain = text.trim();
  if (parameter.type.includes("Schema")) {
    const pairs = plain.split(",").map((part) => part.trim().split(/\s+/)).filter(([name]) => name);
    return { schema: pairs.map(([name, kind]) => [name, TYPES[kind ?? ""] ?? kind ?? "int64"]) };
  }
  if (isValues(parameter)) {
    return plain.split("\n").filter((line) => line.trim()).map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line.trim(), line.trim()] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
  }
  if (isGraph(parameter)) return plain ? plain.split(",").map((part) => part.trim().split(/\s+/).map(Number)) : [];
  if (parameter.type.includes("tuple[str")) return plain ? plain.split(",").map((part) => part.trim()).filter(Boolean) : parameter.needed ? [] : undefined;
  if (plain === "") return undefined;
  if (parameter.type.startsWith("bool")) return plain === "true" || plain === "True";
  if (/\b(int|float|Duration)\b/.test(parameter.type) && /^-?\d+(\.\d+)?$/.test(plain)) return Number(plain);
  return plain;
}

const TYPES: Record<string, string> = { int: "int64", float: "float64", str: "string", text: "string" };

export function isValues(parameter: Parameter): boolean {
  return parameter.name === "values" || (parameter.name === "columns" && !parameter.type.startsWith("tuple[str"));
}

/** Whether columns stand in it: an expression, some, or names of columns. */
export function isCode(parameter: Parameter): boolean {
  return isValues(parameter) || (/\bstr\b|Expression/.test(parameter.type) && !/Schema|Duration|bool|\bint\b|\bfloat\b|Literal/.test(parameter.type) && parameter.name !== "name");
}

export function isGraph(parameter: Parameter): boolean {
  return parameter.type.includes("Graph");
}

function isSchema(value: unknown): value is { schema: [string, string][] } {
  return typeof value === "object" && value !== null && "schema" in value;
}
