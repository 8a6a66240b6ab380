// Which connection points hold things that move: reports of Linear Road, or any stream with x and y, or lon and lat.

import type { NetworkFacts } from "../../wire/api";

export interface Layer {
  /** The connection point. */
  point: string;
  kind: "road" | "plane";
  /** Which column says what moves, and which say where. */
  id: string;
  x: string;
  y: string;
  time: string;
  /** Whether times are dates, not numbers. */
  dated: boolean;
  /** How many units of a time that is a number are a second. */
  ticks: number;
  /** Whether x and y are degrees. */
  lonlat: boolean;
}

const ROAD = ["vid", "speed", "xway", "lane", "dir", "pos"];
const PLACES = [["x", "y"], ["lon", "lat"], ["longitude", "latitude"], ["lng", "lat"]] as const;
const IDS = ["vid", "id", "vehicle", "vehicle_id", "object", "object_id", "oid", "car", "name"];

export function layersOf(network: NetworkFacts, places: readonly string[]): Layer[] {
  const layers: Layer[] = [];
  const moving = movingBox(network);
  for (const point of places) {
    const arc = network.arcs.find((one) => one.end === point);
    if (!arc || arc.signed) continue;
    const has = (name: string) => name in arc.columns;
    const dated = !/^(int|float|double)/.test(arc.columns[arc.time] ?? "");
    const where = PLACES.find(([x, y]) => has(x) && has(y));
    const id = IDS.find(has) ?? arc.key[0];
    if (ROAD.every(has)) layers.push({ point, kind: "road", id: "vid", x: "pos", y: "lane", time: arc.time, dated, ticks: 1, lonlat: false });
    else if (where && id) layers.push({ point, kind: "plane", id, x: where[0], y: where[1], time: arc.time, dated, ticks: Number(moving?.ticks ?? 1) || 1, lonlat: where[0] !== "x" || moving?.lonlat === "True" });
  }
  return layers;
}

/** The arguments of the box of moving queries, if there is one. */
export function movingBox(network: NetworkFacts): Record<string, string> | null {
  return (network.boxes.find((box) => box.kind === "moving_queries")?.arguments as Record<string, string> | undefined) ?? null;
}

/** A point with these columns; the answers of Linear Road are found so, whatever their points are called. */
export function pointWith(network: NetworkFacts, places: readonly string[], columns: string[], without: string[] = []): string | null {
  const found = places.find((point) => {
    const arc = network.arcs.find((one) => one.end === point);
    return arc && columns.every((name) => name in arc.columns) && !without.some((name) => name in arc.columns);
  });
  return found ?? null;
}

/** A time of a stream in seconds. */
export function secondsOf(value: unknown): number {
  return typeof value === "string" ? Date.parse(/[Z+]/.test(value) ? value : `${value}Z`) / 1000 : Number(value);
}

/** A time through which a stream is complete, in seconds; null at its end or beginning. */
export function throughOf(text: string, dated: boolean, ticks = 1): number | null {
  const time = Number(text) / (dated ? 1e6 : ticks);
  return Math.abs(Number(text)) > 4e18 ? null : time;
}
