import { describe, expect, it } from "vitest";
import { windowOf, type Status, type Step } from "../../figures/steps";
import { outputsBehind } from "../../graph/model";
import type { NetworkFacts } from "../../wire/api";
import { planInWords } from "./Decisions";
import { lossesInWords, lossesOf } from "./losses";

const arc = (begin: string, end: string) => ({ name: `${begin}.out → ${end}.in`, begin, begin_port: "out", end, end_port: "in" });
const NETWORK = {
  boxes: [["reports", "source"], ["fast", "filter"], ["slow", "filter"], ["alerts", "output"], ["jams", "output"]].map(([name, kind]) => ({ name, kind })),
  arcs: [arc("reports", "fast"), arc("reports", "slow"), arc("fast", "alerts"), arc("slow", "jams"), arc("fast", "slow")],
} as unknown as NetworkFacts;

describe("what an output misses", () => {
  it("is what is left out on the arcs that lead to it", () => {
    expect(Object.fromEntries(outputsBehind(NETWORK))).toEqual({
      "reports.out → fast.in": ["alerts", "jams"],
      "reports.out → slow.in": ["jams"],
      "fast.out → alerts.in": ["alerts"],
      "slow.out → jams.in": ["jams"],
      "fast.out → slow.in": ["jams"],
    });
  });
  it("is summed by output", () => {
    const step = { step: 1, version: 1, born: 0, seconds: 1, boxes: {}, slots: [], sources: {}, outputs: {}, shed: { "reports.out → fast.in": 5 }, held: { "reports.out → slow.in": 7 } } as Step;
    const status = { shed: { "reports.out → fast.in": 50, "fast.out → alerts.in": 3 } } as unknown as Status;
    const losses = lossesOf(NETWORK, windowOf([step]), status, { waiting: 9, ports: { "fast.in": 9 }, late: { alerts: 2 } });
    expect(losses).toEqual({
      alerts: { shed: 53, shedNow: 5, held: 0, waiting: 9, settled: 2 },
      jams: { shed: 50, shedNow: 5, held: 7, waiting: 9, settled: 0 },
    });
    expect(lossesInWords(losses.alerts!)).toBe("53 left out before it, 9 wait to be settled, 2 settled late");
    expect(lossesInWords({ shed: 0, shedNow: 0, held: 0, waiting: 0, settled: 0 })).toBe("");
  });
});

describe("the drop plan", () => {
  it("is said in words", () => {
    expect(planInWords({ share: 0.4, by: ["xway", "dir"] }, undefined, 1200)).toBe("Leaves out 40 % of the groups by xway, dir; 1,200 left out so far.");
    expect(planInWords({ share: 0, keep: "speed > 90", overflow: true }, undefined, 0)).toBe("Keeps only where speed > 90; what is left out is settled later.");
    expect(planInWords(undefined, 0, 0)).toBe("Held.");
    expect(planInWords(undefined, 50, 0)).toBe("Held, 50 a step go on.");
  });
});

describe("state", () => {
  it("is known by box, and a local run's total is the sum", () => {
    const slot = (state: Record<string, number>): Step["slots"][number] => [0, 0, 0.1, {}, 0, 0, 0, state];
    const step = { step: 1, version: 1, born: 0, seconds: 1, boxes: {}, slots: [slot({ a: 10, b: 1 }), slot({ a: 5 })], sources: {}, outputs: {} } as Step;
    expect(windowOf([step])).toMatchObject({ state: { a: 15, b: 1 }, stateBytes: 16 });
    const stored = { ...step, slots: [[0, 0, 0.1, {}, 0, 0, 90, { a: 10 }]] } as Step;
    expect(windowOf([stored])).toMatchObject({ state: { a: 10 }, stateBytes: 90 });
  });
});
