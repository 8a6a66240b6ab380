import { describe, expect, it } from "vitest";
import { argumentsInShort, costInWords, detailAt } from "./detail";

describe("the closer one is, the more is shown", () => {
  it("in three stages", () => {
    expect([0.05, 0.5, 0.7, 0.9, 1, 2.5].map(detailAt)).toEqual(["far", "far", "nearer", "nearer", "near", "near"]);
  });
  it("arguments are said in a line", () => {
    expect(argumentsInShort({ arguments: { values: "top = max(speed)", every: "10 seconds" } })).toBe("top = max(speed); every 10 seconds");
    expect(argumentsInShort({ arguments: { weight: "2.0" } })).toBe("weight 2.0");
    expect(argumentsInShort({ arguments: { predicate: "x".repeat(500) } })).toHaveLength(80);
    expect(argumentsInShort({ arguments: {} })).toBe("");
  });
  it("a cost has a unit", () => {
    expect([2.3e-7, 4.56e-6, 1.234e-5, 0.0033, 0.137, 2.04].map(costInWords)).toEqual(["0.23 µs", "4.6 µs", "12 µs", "3.3 ms", "140 ms", "2 s"]);
  });
});
