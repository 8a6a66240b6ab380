import { describe, expect, it } from "vitest";
import type { NetworkFacts } from "../../wire/api";
import { hops } from "./hops";

describe("the way of a tuple", () => {
  const arc = (begin: string, end: string, end_port = "in") => ({ name: `${begin}.out → ${end}.${end_port}`, begin, begin_port: "out", end, end_port });
  const box = (name: string, kind: string, outputs = ["out"]) => ({ name, kind, outputs });
  const network = {
    // Not in the order in which tuples come to them.
    boxes: [box("found", "output", []), box("both", "join"), box("rest", "output", []), box("named", "map"), box("fast", "filter"), box("reports", "source"), box("other", "source")],
    arcs: [arc("reports", "fast"), arc("fast", "named"), arc("named", "found"), arc("fast", "both", "left"), arc("other", "both", "right"), arc("both", "rest")],
  } as unknown as NetworkFacts;

  it("leads through the boxes in order, with what each got and gave; a join that needs others is left out", () => {
    const row = { speed: 120 };
    const tuples = { "reports.out": [row], "fast.out": [row], "named.out": [{ name: "a" }], found: [{ name: "a" }] };
    const way = hops(network, network.arcs[0]!, [row], tuples);
    expect(way.map((hop) => [hop.box, hop.got.length, hop.gave?.length ?? null])).toEqual([["fast", 1, 1], ["named", 1, 1], ["found", 1, null]]);
    expect(way[2]!.got).toEqual([{ name: "a" }]);
    expect(hops(network, network.arcs[1]!, [row], { ...tuples, "fast.out": [row] })[0]!.box).toBe("named");
  });
});
