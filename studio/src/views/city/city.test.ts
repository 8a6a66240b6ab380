import { describe, expect, it } from "vitest";
import type { NetworkFacts } from "../../wire/api";
import { Clock } from "./clock";
import { colourOf, LAV, TOLL, valuesOf } from "./colours";
import { Fleet, MOVES, SILENT, STANDS, STRIDE } from "./fleet";
import { layersOf, pointWith, secondsOf, throughOf } from "./layers";
import { alertedSegments, clockText, laneY, Roads, SEGMENT, speedOf, STRIP, tripOf } from "./road";

const FAR = 3000;
const seen = (x: number, vx: number, time: number, y = 0) => ({ x, y, vx, vy: 0, time });

describe("the fleet", () => {
  it("goes on from the last report", () => {
    const fleet = new Fleet();
    fleet.put(7, seen(1000, 88, 50), MOVES, FAR);
    expect(fleet.position(0, 60)).toEqual([1880, 0]);
    expect(fleet.position(0, 40)).toEqual([1000, 0]);
  });

  it("slides from where it was drawn to where it is, and does not jump", () => {
    const fleet = new Fleet();
    fleet.put(7, seen(0, 100, 0), MOVES, FAR);
    fleet.put(7, seen(2800, 90, 30, 1), MOVES, FAR);
    expect(fleet.position(0, 30)).toEqual([3000, 0]);
    const [x, y] = fleet.position(0, 33);
    expect(Math.abs(x - (2800 + 270))).toBeLessThan(1);
    expect(y).toBeCloseTo(1, 3);
  });

  it("is put elsewhere at once where it is far", () => {
    const fleet = new Fleet();
    fleet.put(7, seen(0, 100, 0), MOVES, FAR);
    fleet.put(7, seen(90_000, 90, 30), MOVES, FAR);
    expect(fleet.position(0, 30)).toEqual([90_000, 0]);
  });

  it("leaves out older reports, and keeps large times exact", () => {
    const fleet = new Fleet();
    fleet.put("a", seen(0, 1, 1_700_000_000.5), MOVES, FAR);
    expect(fleet.put("a", seen(9, 1, 1_700_000_000), MOVES, FAR)).toBeUndefined();
    expect(fleet.position(0, 1_700_000_001)[0]).toBeCloseTo(0.5, 6);
  });

  it("forgets who is silent, and finds the others in their slots", () => {
    const fleet = new Fleet();
    for (let id = 0; id < 3000; id++) fleet.put(id, seen(id, 0, id % 3 === 0 ? 0 : 100), STANDS, FAR);
    fleet.leave(100 + SILENT - 1);
    expect(fleet.size).toBe(2000);
    expect(fleet.slot(3)).toBeUndefined();
    for (let id = 1; id < 3000; id += 3) expect(fleet.data[fleet.slot(id)! * STRIDE]).toBe(id);
    expect(fleet.ids.every((id, slot) => fleet.slot(id) === slot)).toBe(true);
  });

  it("finds what is nearest on the screen", () => {
    const fleet = new Fleet();
    fleet.put(1, seen(0, 10, 0), MOVES, FAR);
    fleet.put(2, seen(300, 0, 0), MOVES, FAR);
    expect(fleet.ids[fleet.nearest(290, 0, 0.1, 1, 5, 0)!]).toBe(2);
    expect(fleet.ids[fleet.nearest(200, 0, 1, 1, 5, 20)!]).toBe(1);
    expect(fleet.nearest(100, 50, 1, 1, 5, 0)).toBeNull();
  });
});

describe("the clock", () => {
  it("goes evenly between reports that come by the second, a little behind", () => {
    const clock = new Clock();
    const shown: number[] = [];
    for (let wall = 0; wall < 10; wall += 0.02) {
      if (Math.abs(wall - Math.round(wall)) < 0.009) clock.put(100 + Math.round(wall), wall);
      shown.push(clock.now(wall));
    }
    const steps = shown.slice(200).map((time, place, all) => (place ? time - all[place - 1]! : 0.02));
    expect(Math.min(...steps)).toBeGreaterThan(0.012);
    expect(Math.max(...steps)).toBeLessThan(0.028);
    expect(clock.speed).toBeCloseTo(1);
    expect(109 - shown[shown.length - 1]!).toBeLessThan(2);
  });

  it("plays on from a moment of the past, evenly and never back", () => {
    const clock = new Clock();
    const shown: number[] = [];
    clock.start(100, 0, 0.5);
    for (let wall = 0; wall < 8; wall += 0.02) {
      const half = Math.round(wall * 2);
      if (Math.abs(wall - half / 2) < 0.009) clock.put(110 + 10 * half, wall);
      shown.push(clock.now(wall));
    }
    expect(shown[0]).toBe(100);
    const steps = shown.map((time, place) => (place ? time - shown[place - 1]! : 0));
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...steps.slice(200))).toBeLessThan(0.6);
    expect(Math.min(...steps.slice(200))).toBeGreaterThan(0.2);
    expect(270 - shown[shown.length - 1]!).toBeLessThan(25);
  });

  it("knows a run that is faster, does not take history for speed, and stands still with the run", () => {
    const clock = new Clock();
    clock.put(60, -0.9, true);
    clock.put(100, 0, true);
    for (let wall = 1; wall < 6; wall++) clock.put(100 + 8 * wall, wall);
    expect(clock.speed).toBeGreaterThan(7);
    expect(clock.speed).toBeLessThan(9);
    for (let wall = 5; wall < 20; wall += 0.1) clock.now(wall);
    expect(clock.now(20)).toBe(140);
  });
});

describe("roads", () => {
  it("have their lanes from the median outwards, and vehicles stay in theirs", () => {
    expect([3, 2, 1, 0, 4].map((lane) => laneY(0, 0, lane))).toEqual([5.5, 6.5, 7.5, 8.5, 8.5]);
    expect([3, 2, 1, 0, 4].map((lane) => laneY(1, 1, lane) - STRIP)).toEqual([3.5, 2.5, 1.5, 0.5, 0.5]);
    for (let vid = 0; vid < 1000; vid++) expect(Math.floor(laneY(2, 0, 2, vid))).toBe(2 * STRIP + 6);
    expect(speedOf(60, 0)).toBeCloseTo(88);
    expect(speedOf(60, 1)).toBeCloseTo(-88);
  });

  it("take a notice as that of the segment its vehicle reported from, whichever comes first", () => {
    const roads = new Roads();
    const place = { xway: 0, direction: 1, seg: 7 };
    roads.noticed(5, { lav: 30, toll: 800, time: 90 }, { ...place, seg: 6, time: 60 });
    expect(roads.at({ ...place, seg: 6 }, 90)).toBeNull();
    roads.reported(5, place);
    expect(roads.at(place, 90)?.toll).toBe(800);
    roads.noticed(6, { lav: 35, toll: 500, time: 80 }, { ...place, time: 80 });
    expect(roads.at(place, 90)?.toll).toBe(800);
    expect(roads.at(place, 90 + 200)).toBeNull();
  });

  it("have an accident where drivers are alerted of one, until nobody is any more", () => {
    const roads = new Roads();
    const place = { xway: 1, direction: 0, seg: 42 };
    roads.alerted(place, 1, 100);
    roads.alerted(place, 2, 130);
    expect(roads.accidents(140)).toMatchObject([{ ...place, first: 100, last: 130 }]);
    expect(roads.accidents(140)[0]!.alerted.size).toBe(2);
    expect(roads.accidents(300)).toEqual([]);
    expect(alertedSegments(place)).toEqual([38, 42]);
    expect(alertedSegments({ ...place, direction: 1 })).toEqual([42, 46]);
    expect(alertedSegments({ ...place, seg: 1 })).toEqual([0, 1]);
  });

  it("know a vehicle's trip: its reports since the last long silence", () => {
    const reports = [5, 35, 200, 230, 260].map((time, place) => ({ time, seg: 10 + place }));
    expect(tripOf(reports)).toEqual({ since: 200, from: 12, to: 14, reports: 3 });
    expect(tripOf(reports.slice(0, 1))).toEqual({ since: 5, from: 10, to: 10, reports: 1 });
    expect(tripOf([])).toBeNull();
  });

  it("show seconds as a clock", () => {
    expect(clockText(3 * 3600 + 62.9)).toBe("3:01:02");
    expect(SEGMENT).toBe(5280);
  });
});

describe("colours", () => {
  it("change where tolls begin", () => {
    const [slow, fast] = [colourOf(LAV, 39), colourOf(LAV, 41)];
    expect(slow[0]).toBeGreaterThan(slow[2]);
    expect(fast[2]).toBeGreaterThan(fast[0]);
    expect(colourOf(TOLL, 1e9)).toEqual(TOLL.stops[TOLL.stops.length - 1]![1]);
    expect(valuesOf(TOLL, 2).slice(0, 3)).toEqual([0, 0.5, 1]);
  });
});

describe("layers", () => {
  const arc = (end: string, columns: Record<string, string>, more = {}) => ({ end, columns, time: "time", key: [], signed: false, ...more });
  const network = {
    boxes: [],
    arcs: [
      arc("kept_reports", Object.fromEntries(["time", "vid", "speed", "xway", "lane", "dir", "seg", "pos"].map((name) => [name, "int32"]))),
      arc("kept_alerts", { time: "int32", vid: "int64", xway: "int32", seg: "int8", dir: "int8" }),
      arc("ships", { time: "timestamp", name: "string", lon: "float64", lat: "float64" }),
      arc("robots", { time: "int64", robot: "int64", x: "float64", y: "float64" }, { key: ["robot"] }),
      arc("nameless", { time: "int64", x: "float64", y: "float64" }),
    ],
  } as unknown as NetworkFacts;
  const places = ["kept_alerts", "kept_reports", "nameless", "robots", "ships"];

  it("are found by their columns", () => {
    const found = layersOf(network, places).map(({ point, kind, id, dated }) => [point, kind, id, dated]);
    expect(found).toEqual([["kept_reports", "road", "vid", false], ["robots", "plane", "robot", false], ["ships", "plane", "name", true]]);
    expect(pointWith(network, places, ["vid", "xway", "dir", "seg"], ["pos"])).toBe("kept_alerts");
    expect(pointWith(network, places, ["toll"])).toBeNull();
  });

  it("count time and space as the box of moving queries does", () => {
    const box = { name: "moving", kind: "moving_queries", arguments: { ticks: "10", lonlat: "True" } };
    const moving = { boxes: [box], arcs: [arc("kept_objects", { t: "int64", object: "int64", x: "float64", y: "float64" }, { time: "t" })] } as unknown as NetworkFacts;
    expect(layersOf(moving, ["kept_objects"])).toMatchObject([{ id: "object", ticks: 10, lonlat: true }]);
    expect(throughOf("50", false, 10)).toBe(5);
  });

  it("have times in seconds, whatever they are", () => {
    expect(secondsOf("2026-03-01T00:00:01")).toBe(Date.UTC(2026, 2, 1, 0, 0, 1) / 1000);
    expect(secondsOf(90)).toBe(90);
    expect(throughOf("9223372036854775807", false)).toBeNull();
    expect(throughOf("5000000", true)).toBe(5);
  });
});
