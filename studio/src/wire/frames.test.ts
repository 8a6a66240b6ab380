import { describe, expect, it } from "vitest";
import { formatAddress, parseAddress } from "../address";
import { asText, differences, EMPTY, fromText, renameBox, type Draft, type Parameter } from "../views/draw/draft";
import { rowsOf, unpack } from "./frames";

function frame(header: object, body: Uint8Array): ArrayBuffer {
  let text = JSON.stringify(header);
  while ((text.length + 4) % 8) text += " ";
  const buffer = new ArrayBuffer(8 + 4 + text.length + body.length);
  const view = new DataView(buffer);
  view.setInt32(0, 7, true);
  view.setUint32(8, text.length, true);
  new Uint8Array(buffer).set(new TextEncoder().encode(text), 12);
  new Uint8Array(buffer).set(body, 12 + text.length);
  return buffer;
}

describe("a frame", () => {
  it("gives its columns without a copy, and its texts", () => {
    const body = new Uint8Array(new Float64Array([1.5, 2]).buffer);
    const found = unpack(frame({ names: ["x", "t"], height: 2, columns: { x: ["f8", 0, 2] }, texts: { t: ["a", null] } }, body));
    expect(found.channel).toBe(7);
    const rows = rowsOf(found)!;
    expect([rows.value("x", 1), rows.value("t", 0), rows.value("t", 1)]).toEqual([2, "a", null]);
    expect(rowsOf(unpack(frame({ end: true }, new Uint8Array())))).toBeNull();
    expect(() => unpack(frame({ columns: { x: ["f2", 0, 1] } }, body))).toThrow("unknown type");
  });
});

describe("an address", () => {
  it("comes back as it was", () => {
    const address = { view: "network", values: { arc: "a.out → b.in", open: "x|y & z", at: "1.5" } };
    expect(parseAddress(formatAddress(address))).toEqual(address);
    expect(parseAddress("#/%E0%A4%A")).toEqual({ view: "", values: {} });
    expect(parseAddress("")).toEqual({ view: "", values: {} });
  });
});

describe("a draft", () => {
  const parameter = (name: string, type: string): Parameter => ({ name, type, about: "", needed: false, default: null });
  it("has arguments as text and back", () => {
    for (const [one, value] of [
      [parameter("values", "Values"), [["n", "count(*)"], ["top", "max(x)"]]],
      [parameter("schema", "Schema"), { schema: [["time", "int64"], ["v", "float64"]] }],
      [parameter("columns", "tuple[str, ...]"), ["a", "b"]],
      [parameter("every", "Duration | None"), "10 seconds"],
      [parameter("size", "int | None"), 3],
      [parameter("delay", "Graph"), [[2, 1], [10, 0]]],
    ] as const) expect(fromText(one, asText(one, value))).toEqual(value);
    expect(fromText(parameter("schema", "Schema"), "time int, v")).toEqual({ schema: [["time", "int64"], ["v", "int64"]] });
  });
  it("says what is changed", () => {
    const before: Draft = { ...EMPTY, boxes: [{ kind: "source", name: "s" }, { kind: "filter", name: "f", predicate: "x" }], arcs: [["s.out", "f.in"]] };
    expect(differences(before, before)).toEqual({});
    expect(differences(before, renameBox(before, "s", "t"))).toEqual({ t: "new", f: "changed", s: "gone" });
  });
});
