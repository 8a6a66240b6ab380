import { describe, expect, it } from "vitest";
import type { Status, Window } from "../../figures/steps";
import { arcWidth, pressureColour, wayFigures } from "./figures";

describe("an arc", () => {
  it("is wider the more passes, from ten tuples a second to millions", () => {
    const widths = [null, 0, 1, 10, 1000, 100_000, 1e6].map(arcWidth);
    expect(widths[0]).toBe(widths[1]);
    for (let place = 2; place < widths.length; place++) expect(widths[place]).toBeGreaterThan(widths[place - 1]!);
    expect(arcWidth(1e12)).toBe(11);
  });
  it("carries what all of its arcs carry, and says what is done to them", () => {
    const window = { arrivals: { "b.in": 30, "c.in": 10 }, held: {}, steps: 4, span: 2 } as unknown as Window;
    const both = ["a.out → b.in", "a.out → c.in"];
    expect(wayFigures(both, window, null)).toEqual({ rate: 20, mark: null });
    const shed = { steering: { shed: { "a.out → b.in": { share: 0.25 } } } } as unknown as Status;
    expect(wayFigures(both, window, shed).mark).toBe("sheds 25 %");
    const held = { ...window, held: { "a.out → c.in": 12 } } as unknown as Window;
    expect(wayFigures(both, held, null).mark).toBe("12 wait");
    expect(wayFigures(both, undefined, null).rate).toBeNull();
  });
});

it("pressure has three colours", () => {
  expect(new Set([0.1, 0.3, 0.9].map(pressureColour)).size).toBe(3);
});
