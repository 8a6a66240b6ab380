import { describe, expect, it } from "vitest";
import { count, lastSteps, percentile, placeAt, seconds, utilityAt, windowOf, worst, type Step } from "./steps";
import { joined } from "../run";
import { pieces } from "../views/network/Profile";

const step = (number: number, born: number): Step => ({
  step: number, version: 1, born, seconds: 0.5,
  boxes: { fast: [{ in: 10 }, { out: 4, otherwise: 6 }, 0.2], alerts: [{ in: 4 }, {}, 0] },
  slots: [[-1, 0, 0.3, { fast: 0.15 }, 0, 5, 100], [-1, 1, 0.1, { fast: 0.05 }, 0, 5, 50]],
  sources: { reports: [10, 7, 0, null, null] },
  outputs: { alerts: [4, number, {}] },
});
const STEPS = [step(1, 100), step(2, 101), step(3, 102), step(4, 103)];

describe("a window of steps", () => {
  it("sums what boxes did and finds the busiest slot", () => {
    const window = windowOf(STEPS.slice(0, 2));
    expect(window.span).toBeCloseTo(1.5);
    expect(window.boxes.fast).toMatchObject({ in: 20, out: 20, seconds: 0.4 });
    expect(window.boxes.fast!.pressure).toBeCloseTo(0.3);
    expect(window.boxes.fast!.skew).toBeCloseTo(1.5);
    expect(window.boxes.fast!.slots.map(([slot, spent]) => [slot, Math.round(100 * spent)])).toEqual([[0, 30], [1, 10]]);
    expect(window.arrivals).toEqual({ "fast.in": 20, "alerts.in": 8 });
    expect(window.stateBytes).toBe(150);
    expect(window.stateWritten).toBe(20);
  });
  it("shows where the time of a step went: the slowest slot of each level, and the rest", () => {
    const both = { ...STEPS[0]!, slots: [...STEPS[0]!.slots, [0, 0, 0.05, {}, 0, 0, 0] as Step["slots"][number]] };
    expect(pieces(both).map(({ level, seconds }) => [level, Math.round(100 * seconds)])).toEqual([[-1, 30], [0, 5], [null, 15]]);
  });
  it("is cut by time", () => {
    expect(placeAt(STEPS, 101.5)).toBe(2);
    expect(placeAt(STEPS, 0)).toBe(0);
    expect(lastSteps(STEPS, 4, 2).map((one) => one.step)).toEqual([3, 4]);
    expect(lastSteps(STEPS, 0, 2)).toEqual([]);
    expect(windowOf([]).steps).toBe(0);
  });
  it("weighs delays by tuples", () => {
    expect(percentile([[1, 99], [5, 1]], 0.5)).toBe(1);
    expect(percentile([[1, 98], [5, 2]], 0.99)).toBe(5);
  });
  it("ranks what is late before what is busy", () => {
    const ranked = worst(windowOf(STEPS), { alerts: [[2, 1], [4, 0]] });
    expect(ranked[0]).toMatchObject({ name: "alerts", kind: "output" });
    expect(ranked.map((one) => one.name)).toContain("fast");
  });
  it("knows what a delay is worth", () => {
    expect(utilityAt([[2, 1], [10, 0]], 6)).toBe(0.5);
    expect(utilityAt([[2, 1], [10, 0]], 99)).toBe(0);
    expect(utilityAt([], 3)).toBe(1);
  });
});

describe("steps that come", () => {
  it("are joined, also after a lost connection or a new beginning", () => {
    expect(joined(STEPS.slice(0, 2), STEPS.slice(2))).toHaveLength(4);
    expect(joined(STEPS, STEPS.slice(2)).map((one) => one.step)).toEqual([1, 2, 3, 4]);
    expect(joined(STEPS, [step(1, 500)]).map((one) => one.born)).toEqual([500]);
  });
});

describe("numbers", () => {
  it("are short", () => {
    expect([count(0), count(3.14159), count(1234), count(45678), count(1.2e7)]).toEqual(["0", "3.1", "1,234", "45.7 k", "12 M"]);
    expect([seconds(0), seconds(7e-5), seconds(0.0123), seconds(2.34), seconds(150)]).toEqual(["0 ms", "70 µs", "12 ms", "2.3 s", "2.5 min"]);
  });
});
