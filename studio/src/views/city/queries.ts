// Moving queries on the plane: where each one is, whom it holds, and who has just joined or left.

import type { Rows } from "../../wire/frames";
import type { Fleet, Id } from "./fleet";

export interface Query {
  name: Id;
  kind: "range" | "movingrange" | "knn" | "movingknn";
  focal: Id | null;
  k: number;
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

export interface Flash {
  object: Id;
  query: Id;
  joined: boolean;
  time: number;
  /** When the page heard of it, by its own clock. */
  wall: number;
}

/** A rectangle, or a circle around the k nearest with lines to each; `cache` is how much farther the cache reaches. */
export type Shape =
  | { query: Query; kind: "rectangle"; left: number; right: number; bottom: number; top: number; cache: number }
  | { query: Query; kind: "nearest"; x: number; y: number; members: [number, number][]; radius: number; cache: number };

export interface Cache {
  /** The share of the conservative cache, 0 to 1, and the longest way between two reports; null: it is measured by the run. */
  share: number;
  step: number | null;
}

export const FLASH_SECONDS = 1.6;
const MOST_FLASHES = 300;
export const METRES_A_DEGREE = 111_195;
/** How many longest steps the conservative cache reaches: of a rectangle, of a fixed and of a moving nearest set. */
const REACH = { movingrange: 1, knn: 1, movingknn: 3 };

export class Queries {
  standing = new Map<Id, Query>();
  /** Who is in an answer, since when. Changes and queries come by channels of their own, in any order. */
  private joined = new Map<Id, Map<Id, number>>();
  private dropped = new Map<Id, number>();
  flashes: Flash[] = [];

  constructor(readonly lonlat: boolean, readonly cache: Cache) {}

  asked(rows: Rows, time: string, ticks: number) {
    for (let row = 0; row < rows.height; row++) {
      const value = (name: string) => rows.value(name, row);
      const name = value("query") as Id;
      const kind = String(value("kind"));
      if (kind === "drop") {
        this.standing.delete(name);
        this.dropped.set(name, Number(value(time)) / ticks);
      } else {
        const number = (column: string) => Number(value(column) ?? NaN);
        const focal = (value("focal") ?? null) as Id | null;
        this.standing.set(name, { name, kind: kind as Query["kind"], focal, k: number("k"), x1: number("x1"), y1: number("y1"), x2: number("x2"), y2: number("y2") });
      }
    }
  }

  /** `fresh` says from which time on changes are news, which flash; what was before is history. */
  changed(rows: Rows, time: string, object: string, ticks: number, fresh: number, wall: number) {
    for (let row = 0; row < rows.height; row++) {
      const query = rows.value("query", row) as Id;
      const who = rows.value(object, row) as Id;
      const joined = Number(rows.value("sign", row)) > 0;
      const own = this.joined.get(query) ?? new Map<Id, number>();
      const at = Number(rows.value(time, row)) / ticks;
      this.joined.set(query, own);
      if (joined) own.set(who, at);
      else own.delete(who);
      if (at > fresh) this.flashes.push({ object: who, query, joined, time: at, wall });
    }
    if (this.flashes.length > MOST_FLASHES) this.flashes = this.flashes.slice(-MOST_FLASHES);
  }

  /** The queries whose answer holds an object, and those that follow it. */
  of(object: Id): { holds: Id[]; follows: Id[] } {
    const holds = [...this.standing.keys()].filter((name) => this.holds(name, object));
    const follows = [...this.standing.values()].filter((one) => one.focal !== null && String(one.focal) === String(object)).map((one) => one.name);
    return { holds, follows };
  }

  members(query: Id): Id[] {
    return [...(this.joined.get(query)?.keys() ?? [])].filter((one) => this.holds(query, one));
  }

  /** What joined before the query was dropped was in the answer of another one of its name. */
  private holds(query: Id, object: Id): boolean {
    const since = this.joined.get(query)?.get(object);
    return since !== undefined && since >= (this.dropped.get(query) ?? -Infinity);
  }

  /** Where a query is at a time; null while its focal object has not been seen. */
  shape(query: Query, fleet: Fleet, now: number): Shape | null {
    const centre = this.centre(query, fleet, now);
    if (!centre) return null;
    const [x, y] = centre;
    const across = this.lonlat ? METRES_A_DEGREE * Math.max(0.01, Math.cos((y * Math.PI) / 180)) : 1;
    const along = this.lonlat ? METRES_A_DEGREE : 1;
    const { step, share } = this.cache;
    if (query.kind === "range") return { query, kind: "rectangle", left: Math.min(query.x1, query.x2), right: Math.max(query.x1, query.x2), bottom: Math.min(query.y1, query.y2), top: Math.max(query.y1, query.y2), cache: 0 };
    if (query.kind === "movingrange") {
      const [half, high] = [query.x1 / 2 / across, query.y1 / 2 / along];
      const margin = step === null ? 0 : rectangleMargin(query.x1, query.y1, REACH.movingrange * step, share);
      return { query, kind: "rectangle", left: x - half, right: x + half, bottom: y - high, top: y + high, cache: margin / along };
    }
    const members: [number, number][] = [];
    let radius = 0;
    for (const one of this.members(query.name)) {
      const slot = fleet.slot(one);
      if (slot === undefined) continue;
      const [mx, my] = fleet.position(slot, now);
      members.push([mx, my]);
      radius = Math.max(radius, Math.hypot((mx - x) * across, (my - y) * along) / along);
    }
    const margin = step === null ? 0 : circleMargin(radius * along, REACH[query.kind] * step, share) / along;
    return { query, kind: "nearest", x, y, members, radius, cache: margin };
  }

  private centre(query: Query, fleet: Fleet, now: number): [number, number] | null {
    if (query.kind === "range") return [(query.x1 + query.x2) / 2, (query.y1 + query.y2) / 2];
    if (query.kind === "knn") return [query.x1, query.y1];
    const slot = query.focal === null ? undefined : (fleet.slot(query.focal) ?? fleet.slot(typeof query.focal === "string" ? Number(query.focal) : String(query.focal)));
    return slot === undefined ? null : fleet.position(slot, now);
  }
}

/** By how much a rectangle grows on each side if the area added is a share of that which growing by `reach` adds. */
export function rectangleMargin(length: number, width: number, reach: number, share: number): number {
  const around = length + width;
  const added = share * (4 * reach * reach + 2 * around * reach);
  return (Math.sqrt(around * around + 4 * added) - around) / 4;
}

export function circleMargin(radius: number, reach: number, share: number): number {
  return Math.sqrt(radius * radius + share * (reach * reach + 2 * radius * reach)) - radius;
}
