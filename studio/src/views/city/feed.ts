// Fills the city from the connection points of the run: the last half minute first, then what comes.

import { theLive } from "../../wire/api";
import { rowsOf, type Frame, type Rows } from "../../wire/frames";
import { Clock } from "./clock";
import { ALERTED, Fleet, MOVES, STANDS, type Id, type Kind } from "./fleet";
import { secondsOf, throughOf, type Layer } from "./layers";
import { PLAY_SECONDS } from "../../run";
import { Queries, type Cache } from "./queries";
import { FEET_A_SECOND, laneY, Roads, SEGMENT, speedOf, STRIP, type Segment } from "./road";

/** Every vehicle reports within so many seconds. */
const REPORTS = 40;
const ANSWERS = 150;
/** Who was alerted within so many seconds is marked. */
const ALERT_SECONDS = 60;
const JUMP_FEET = 3000;
/** A moment within so many seconds after the one that is shown is reached by going on; one beyond is looked up anew. */
const FARTHEST = 120;

export interface Points {
  notices: string | null;
  alerts: string | null;
  /** Moving queries, and the changes of their answers. */
  queries: string | null;
  updates: string | null;
}

export class City {
  fleet = new Fleet();
  roads = new Roads();
  clock = new Clock();
  /** Whom a vehicle was alerted of, and when. */
  alerts = new Map<number, number>();
  queries: Queries | null = null;
  bounds: { left: number; right: number; bottom: number; top: number } | null = null;
  error: string | null = null;
  /** Whether the reports have begun to come, or there are none. */
  known = false;
  /** It counts how often something came. */
  version = 0;
  /** Through this time all was there before the page looked. */
  private history = Infinity;
  private plays = false;
  private closes: (() => void)[] = [];

  /** `at`: stay at this time of the stream; null follows the run. */
  constructor(readonly layer: Layer, private readonly points: Points, public at: number | null, cache: Cache = { share: 1, step: null }) {
    if (points.queries) {
      const queries = (this.queries = new Queries(layer.lonlat, cache));
      this.open(points.queries, null, null, (rows) => queries.asked(rows, layer.time, layer.ticks));
      if (points.updates) this.open(points.updates, null, null, (rows) => queries.changed(rows, layer.time, layer.id, layer.ticks, at === null ? this.history : Infinity, performance.now() / 1000));
    }
    this.open(layer.point, REPORTS, layer.id, (rows) => this.seen(rows));
    if (points.notices) this.open(points.notices, ANSWERS, null, (rows) => this.noticed(rows));
    if (points.alerts) this.open(points.alerts, ANSWERS, null, (rows) => this.alerted(rows));
  }

  close() {
    for (const close of this.closes) close();
  }

  /** The time to draw. */
  now(wall: number): number {
    return this.at === null || this.plays ? this.clock.now(wall) : this.at;
  }

  /** Go on from a moment of the past to one soon after it, with what came in between; false if that is too far. */
  advance(to: number): boolean {
    if (this.at === null || !(to > this.at) || to - this.at > FARTHEST) return false;
    const { layer, points, queries } = this;
    const before = this.at;
    const wall = performance.now() / 1000;
    if (!this.plays) this.clock.start(before, wall, PLAY_SECONDS);
    this.plays = true;
    this.at = to;
    this.clock.put(to, wall);
    if (queries && points.queries) this.between(points.queries, before, null, (rows) => queries.asked(rows, layer.time, layer.ticks));
    if (queries && points.updates) this.between(points.updates, before, null, (rows) => queries.changed(rows, layer.time, layer.id, layer.ticks, before, performance.now() / 1000));
    this.between(layer.point, before, layer.id, (rows) => this.seen(rows));
    if (points.notices) this.between(points.notices, before, null, (rows) => this.noticed(rows));
    if (points.alerts) this.between(points.alerts, before, null, (rows) => this.alerted(rows));
    return true;
  }

  /** The rows of a point after a time and up to the moment that is shown. */
  private between(point: string, after: number, newest: string | null, take: (rows: Rows) => void) {
    const asked = { place: point, since: String(Number(this.unit(after)) + 1), up_to: this.unit(this.at!), newest: newest ?? "" };
    const frame = (frame: Frame) => {
      const rows = rowsOf(frame);
      if (rows) take(rows);
    };
    this.closes.push(theLive().open("rows", asked, { frame, error: (message) => (this.error = message) }));
  }

  private unit(time: number): string {
    return String(Math.round(time * (this.layer.dated ? 1e6 : this.layer.ticks)));
  }

  segmentOf(vid: number): (Segment & { time: number }) | null {
    const slot = this.fleet.slot(vid);
    return slot === undefined ? null : placeOf(this.fleet.sight(slot));
  }

  private open(point: string, seconds: number | null, newest: string | null, take: (rows: Rows) => void) {
    const since = seconds === null ? "" : this.at === null ? `${seconds * this.layer.ticks} seconds` : this.unit(this.at - seconds);
    const asked = { place: point, since, up_to: this.at === null ? "" : this.unit(this.at), newest: newest ?? "" };
    const frame = (frame: Frame) => {
      const rows = rowsOf(frame);
      if (rows) take(rows);
      else if (newest && typeof frame.header.history === "string") this.history = throughOf(frame.header.history, this.layer.dated, this.layer.ticks) ?? Infinity;
      else if (newest && typeof frame.header.through === "string") {
        const through = throughOf(frame.header.through, this.layer.dated, this.layer.ticks);
        if (through !== null) this.tick(through);
      }
      if (newest && !("outputs" in frame.header)) this.known = true;
      this.version++;
    };
    const error = (message: string) => {
      this.error = message;
      this.version++;
    };
    this.closes.push(theLive().open("rows", asked, { frame, error }, this.at === null));
  }

  private tick(time: number) {
    if (this.plays) return; // the slider says how far it goes
    this.clock.put(time, performance.now() / 1000, time <= this.history);
  }

  private seen(rows: Rows) {
    const { fleet, layer } = this;
    let newest = -Infinity;
    for (let row = 0; row < rows.height; row++) {
      const id = rows.value(layer.id, row) as Id;
      const time = secondsOf(rows.value(layer.time, row)) / layer.ticks;
      newest = Math.max(newest, time);
      if (layer.kind === "road") this.report(id as number, time, rows, row);
      else this.placed(id, time, Number(rows.value(layer.x, row)), Number(rows.value(layer.y, row)));
    }
    this.tick(newest);
    fleet.leave(newest);
    this.roads.forget(newest);
    for (const [vid, time] of this.alerts) if (newest - time > ALERT_SECONDS) this.alerts.delete(vid);
  }

  private report(vid: number, time: number, rows: Rows, row: number) {
    const number = (name: string) => rows.value(name, row) as number;
    const [xway, direction, x, speed] = [number("xway"), number("dir"), number("pos"), number("speed")];
    const alert = this.alerts.get(vid);
    const kind: Kind = speed === 0 ? STANDS : alert !== undefined && time - alert <= ALERT_SECONDS ? ALERTED : MOVES;
    const seen = { x, y: laneY(xway, direction, number("lane"), vid), vx: speedOf(speed, direction), vy: 0, time };
    if (this.fleet.put(vid, seen, kind, JUMP_FEET) !== undefined) {
      this.roads.reported(vid, { xway, direction, seg: Math.min(99, Math.floor(x / SEGMENT)) });
    }
  }

  /** On a plane the speed is that from the place before to this one. */
  private placed(id: Id, time: number, x: number, y: number) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    const slot = this.fleet.slot(id);
    let [vx, vy] = [0, 0];
    if (slot !== undefined) {
      const before = this.fleet.sight(slot);
      const passed = time - before.time;
      if (passed > 0) [vx, vy] = [(x - before.x) / passed, (y - before.y) / passed];
    }
    const bounds = (this.bounds ??= { left: x, right: x, bottom: y, top: y });
    this.bounds = { left: Math.min(bounds.left, x), right: Math.max(bounds.right, x), bottom: Math.min(bounds.bottom, y), top: Math.max(bounds.top, y) };
    const far = (this.bounds.right - this.bounds.left) / 10;
    this.fleet.put(id, { x, y, vx, vy, time }, vx === 0 && vy === 0 && slot !== undefined ? STANDS : MOVES, far);
  }

  private noticed(rows: Rows) {
    for (let row = 0; row < rows.height; row++) {
      const vid = rows.value("vid", row) as number;
      const quote = { lav: rows.value("lav", row) as number, toll: rows.value("toll", row) as number, time: rows.value("time", row) as number };
      this.roads.noticed(vid, quote, this.segmentOf(vid));
    }
  }

  private alerted(rows: Rows) {
    for (let row = 0; row < rows.height; row++) {
      const number = (name: string) => rows.value(name, row) as number;
      const [vid, time] = [number("vid"), number("time")];
      this.roads.alerted({ xway: number("xway"), direction: number("dir"), seg: number("seg") }, vid, time);
      this.alerts.set(vid, time);
      const slot = this.fleet.slot(vid);
      if (slot === undefined) continue;
      const seen = this.fleet.sight(slot);
      if (seen.vx !== 0 && seen.time - time <= ALERT_SECONDS) this.fleet.mark(slot, ALERTED);
    }
  }
}

/** The segment of a vehicle's last report, from where it is drawn. */
export function placeOf(sight: { x: number; y: number; time: number }): Segment & { time: number } {
  const xway = Math.floor(sight.y / STRIP);
  return { xway, direction: sight.y - xway * STRIP < 4.5 ? 1 : 0, seg: Math.min(99, Math.floor(sight.x / SEGMENT)), time: sight.time };
}

export function milesAnHour(vx: number): number {
  return Math.round(Math.abs(vx) / FEET_A_SECOND);
}
