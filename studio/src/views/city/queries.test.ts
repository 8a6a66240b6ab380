import { describe, expect, it } from "vitest";
import type { Rows } from "../../wire/frames";
import { Fleet, MOVES } from "./fleet";
import { circleMargin, Queries, rectangleMargin } from "./queries";

function rows(some: Record<string, unknown>[]): Rows {
  return { names: Object.keys(some[0] ?? {}), height: some.length, value: (name, row) => some[row]![name] };
}

const NONE = { focal: null, k: null, x1: null, y1: null, x2: null, y2: null };

describe("moving queries", () => {
  const fleet = new Fleet();
  for (const [id, x, y] of [[1, 10, 20], [2, 13, 24], [3, 50, 50]] as const) fleet.put(id, { x, y, vx: 1, vy: 0, time: 5 }, MOVES, 100);

  it("follow their focal objects", () => {
    const queries = new Queries(false, { share: 1, step: 2 });
    queries.asked(rows([{ ...NONE, query: "near", kind: "movingrange", focal: 1, x1: 8, y1: 4 }, { ...NONE, query: "lost", kind: "movingrange", focal: 9, x1: 8, y1: 4 }]), "t", 1);
    const shape = queries.shape(queries.standing.get("near")!, fleet, 7);
    expect(shape).toMatchObject({ kind: "rectangle", left: 8, right: 16, bottom: 18, top: 22, cache: 2 });
    expect(queries.shape(queries.standing.get("lost")!, fleet, 7)).toBeNull();
    queries.asked(rows([{ ...NONE, query: "near", kind: "drop", t: 9 }]), "t", 1);
    expect(queries.standing.has("near")).toBe(false);
  });

  it("hold whom their changes say, and flash only what is new", () => {
    const queries = new Queries(false, { share: 1, step: null });
    const change = (t: number, object: number, sign: number) => ({ t, query: 7, sign, object });
    queries.changed(rows([change(10, 1, 1), change(10, 2, 1), change(10, 3, 1)]), "t", "object", 10, 1, 0);
    queries.changed(rows([change(20, 3, -1)]), "t", "object", 10, 1, 0);
    queries.asked(rows([{ ...NONE, query: 7, kind: "knn", k: 2, x1: 10, y1: 20, t: 10 }]), "t", 10);
    expect(queries.members(7)).toEqual([1, 2]);
    expect(queries.flashes).toEqual([{ object: 3, query: 7, joined: false, time: 2, wall: 0 }]);
    expect(queries.of(2)).toEqual({ holds: [7], follows: [] });
    expect(queries.shape(queries.standing.get(7)!, fleet, 5)).toMatchObject({ kind: "nearest", radius: 5, members: [[10, 20], [13, 24]], cache: 0 });
    queries.asked(rows([{ ...NONE, query: 7, kind: "drop", t: 30 }]), "t", 10);
    expect(queries.members(7)).toEqual([]);
  });

  it("have caches of the size that the engine gives them", () => {
    expect(rectangleMargin(10, 10, 2, 1)).toBeCloseTo(2);
    expect(rectangleMargin(10, 10, 2, 0)).toBe(0);
    expect(circleMargin(3, 2, 1)).toBeCloseTo(2);
  });
});
