import { describe, expect, it } from "vitest";
import type { NetworkFacts } from "../wire/api";
import { layout, smooth } from "./layout";
import { outputAsked, outputOf, search, visible, wayTo } from "./model";

const box = (name: string, kind = "filter") => ({
  name, kind, summary: "Screens tuples.", about: "", arguments: { predicate: "speed > 100" }, inputs: ["in"], outputs: ["out"],
  stateful: false, superbox: "s", graphs: {}, kept: null, connectable: false,
});
const arc = (begin: string, end: string, shuffles = false) => ({
  name: `${begin}.out → ${end}.in`, begin, begin_port: "out", end, end_port: "in", columns: { time: "int64", seg: "int64" },
  time: "time", key: [], signed: false, shuffles, no_shed: null,
});
const NETWORK: NetworkFacts = {
  name: "n", shards: 2,
  boxes: ["a", "b", "c", "d", "e"].map((name) => box(name)),
  arcs: [arc("a", "b"), arc("b", "c", true), arc("c", "d"), arc("a", "c"), arc("d", "e")],
  groups: { outer: ["b", "c", "d"], inner: ["c", "d"] },
  superboxes: [],
};

describe("what is visible", () => {
  it("closed, a group stands for its boxes, and arcs are summed", () => {
    const { items, ways } = visible(NETWORK, new Set());
    expect(items.map((item) => item.id).sort()).toEqual(["a", "e", "group:outer"]);
    expect(ways.map((way) => [way.id, way.arcs.length])).toEqual([["a→group:outer", 2], ["group:outer→e", 1]]);
  });
  it("open, its parts are seen, and groups within stay closed", () => {
    const { items, ways } = visible(NETWORK, new Set(["outer"]));
    expect(items.map((item) => [item.id, item.within])).toContainEqual(["group:inner", "group:outer"]);
    expect(ways.find((way) => way.id === "b→group:inner")?.shuffles).toBe(true);
    expect(visible(NETWORK, new Set(["inner"])).items).toHaveLength(3);
    expect(visible(NETWORK, new Set(["outer", "inner"])).ways).toHaveLength(5);
  });
  it("knows what to open for a box", () => {
    expect(wayTo(NETWORK, "d")).toEqual(["inner", "outer"]);
    expect(wayTo(NETWORK, "a")).toEqual([]);
  });
  it("is laid out without overlaps, an area around its parts", () => {
    const shown = visible(NETWORK, new Set(["outer", "inner"]));
    const { items } = layout(shown);
    const boxes = shown.items.filter((item) => !item.open).map((item) => items[item.id]!);
    for (const one of boxes) for (const other of boxes) {
      if (one === other) continue;
      const apart = one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y;
      expect(apart).toBe(true);
    }
    const area = items["group:inner"]!;
    expect(items.c!.x).toBeGreaterThan(area.x);
    expect(items.d!.x + items.d!.width).toBeLessThan(area.x + area.width);
  });
  it("leads arcs to the next column at once, with their labels half-way and apart", () => {
    const names = ["queries", "objects", "kept_queries", "moving", "kept_objects"];
    const arcs = [arc("queries", "kept_queries"), arc("queries", "moving"), arc("objects", "moving"), arc("objects", "kept_objects")];
    const shown = visible({ ...NETWORK, boxes: names.map((name) => box(name)), arcs, groups: {} }, new Set());
    const { items, ways, labels } = layout(shown);
    const middle = (id: string) => items[id]!.y + items[id]!.height / 2;
    for (const way of shown.ways) {
      expect(ways[way.id]).toEqual([]);
      expect(labels[way.id]!.y).toBeCloseTo((middle(way.begin) + middle(way.end)) / 2);
    }
    const levels = Object.values(labels).map(({ y }) => y).sort((one, other) => one - other);
    for (let place = 1; place < levels.length; place++) expect(levels[place]! - levels[place - 1]!).toBeGreaterThan(18);
  });
  it("500 boxes are laid out", () => {
    const many = { ...NETWORK, groups: {}, boxes: Array.from({ length: 500 }, (_, n) => box(`b${n}`)), arcs: Array.from({ length: 499 }, (_, n) => arc(`b${Math.floor(n / 2)}`, `b${n + 1}`)) };
    expect(Object.keys(layout(visible(many, new Set())).items)).toHaveLength(500);
  }, 20_000);
  it("leads arcs smoothly", () => {
    expect(smooth([{ x: 0, y: 0 }, { x: 40, y: 10 }])).toBe("M0,0 C20,0 20,10 40,10");
  });
});

describe("search", () => {
  it("finds names first, then arguments and columns; all words must be there", () => {
    expect(search(NETWORK, "c")[0]?.title).toBe("c");
    expect(search(NETWORK, "speed 100").every((hit) => hit.kind === "box")).toBe(true);
    expect(search(NETWORK, "seg")[0]?.kind).toBe("arc");
    expect(search(NETWORK, "inner")[0]?.kind).toBe("group");
    const described = { ...NETWORK, boxes: [{ ...box("top", "tumble"), summary: "Computes values over disjoint windows." }, box("other", "map")] };
    for (const words of ["tumble", "disjoint windows"]) expect(search(described, words).map((hit) => hit.title)).toEqual(["top"]);
    expect(search(NETWORK, "nothing like it")).toEqual([]);
  });
});

describe("the output that a row belongs to", () => {
  const boxes = [box("fast"), box("kept", "connection_point"), box("alerts", "output"), box("named", "map"), box("names", "output")];
  const network = { boxes, arcs: [arc("fast", "kept"), arc("fast", "named"), arc("fast", "alerts"), arc("named", "names"), arc("kept", "names")] };
  it("is at the end of its arc, or of another arc of the same port", () => {
    expect(outputOf(network, network.arcs[2]!)).toBe("alerts");
    expect(outputOf(network, network.arcs[1]!)).toBe("alerts");
    expect(outputOf(network, { ...network.arcs[1]!, begin_port: "otherwise" })).toBeNull();
  });
  it("is that of the stream which is kept, if whole rows are asked for", () => {
    expect(outputAsked(network, "kept", "SELECT * FROM kept")).toBe("alerts");
    expect(outputAsked(network, "kept", 'select *\nfrom "kept" where speed > 3;')).toBe("alerts");
    for (const query of ["SELECT speed FROM kept", "SELECT * FROM other", "SELECT *, 1 AS a FROM kept", "SELECT * FROM kept JOIN b", "SELECT * FROM kept WHERE x > 1 GROUP BY y"]) {
      expect(outputAsked(network, "kept", query)).toBeNull();
    }
    expect(outputAsked({ boxes, arcs: [arc("fast", "kept")] }, "kept", "SELECT * FROM kept")).toBeNull();
  });
});
