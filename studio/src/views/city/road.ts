// Linear City as a plane: x in feet along an expressway; y in lanes, from the first expressway down.

export const SEGMENT = 5280;
export const SEGMENTS = 100;
export const LENGTH = SEGMENT * SEGMENTS;
/** West has 4 lanes (the ramps, 1, 2, 3), then the median, then east (3, 2, 1, the ramps); then room for names. */
export const LANES = 9;
export const STRIP = 12;
export const FEET_A_SECOND = SEGMENT / 3600;
export const EAST = 0;
/** The segment of an accident, and the four before it, are alerted. */
export const ALERTED_SEGMENTS = 5;
/** A toll is asked for where traffic is slower. */
export const TOLL_BELOW = 40;
/** What is known of a segment counts for so many seconds. */
const LASTS = 150;
const ACCIDENT_LASTS = 90;

/** The middle of a lane; vehicles are spread over its width by their numbers, so that a crowd looks like one. */
export function laneY(xway: number, direction: number, lane: number, vid?: number): number {
  const fromMedian = lane >= 1 && lane <= 3 ? 3 - lane : 3;
  const spread = vid === undefined ? 0 : (((vid * 0.6180339887) % 1) - 0.5) * 0.7;
  return xway * STRIP + (direction === EAST ? 5.5 + fromMedian : 3.5 - fromMedian) + spread;
}

/** The first row of a direction's lanes, of four. */
export function firstRow(xway: number, direction: number): number {
  return xway * STRIP + (direction === EAST ? 5 : 0);
}

export function speedOf(speed: number, direction: number): number {
  return speed * FEET_A_SECOND * (direction === EAST ? 1 : -1);
}

export interface Segment {
  xway: number;
  direction: number;
  seg: number;
}

export interface Quote {
  lav: number;
  toll: number;
  time: number;
}

export interface Accident extends Segment {
  first: number;
  last: number;
  alerted: Set<number>;
}

function key({ xway, direction, seg }: Segment): number {
  return (xway * 2 + direction) * SEGMENTS + seg;
}

/** What is known of the segments: the tolls that were quoted last, and accidents. */
export class Roads {
  private quotes = new Map<number, Quote>();
  private waiting = new Map<number, Quote>();
  private found = new Map<number, Accident>();
  xways = new Set<number>();

  /** A notice says neither where: the vehicle's report of the same second does, and may come later. */
  noticed(vid: number, quote: Quote, seen: (Segment & { time: number }) | null) {
    if (seen && seen.time >= quote.time) this.quote(seen, quote);
    else this.waiting.set(vid, quote);
  }

  reported(vid: number, segment: Segment) {
    this.xways.add(segment.xway);
    const quote = this.waiting.get(vid);
    if (!quote) return;
    this.waiting.delete(vid);
    this.quote(segment, quote);
  }

  alerted(segment: Segment, vid: number, time: number) {
    const known = this.found.get(key(segment));
    if (known && time - known.last <= ACCIDENT_LASTS) {
      known.last = Math.max(known.last, time);
      known.first = Math.min(known.first, time);
      known.alerted.add(vid);
    } else this.found.set(key(segment), { ...segment, first: time, last: time, alerted: new Set([vid]) });
  }

  at(segment: Segment, now: number): Quote | null {
    const quote = this.quotes.get(key(segment));
    return quote && now - quote.time <= LASTS ? quote : null;
  }

  accidents(now: number): Accident[] {
    return [...this.found.values()].filter((one) => now - one.last <= ACCIDENT_LASTS).sort((a, b) => a.xway - b.xway || a.seg - b.seg);
  }

  /** Forget what no longer counts. */
  forget(now: number) {
    for (const [vid, quote] of this.waiting) if (now - quote.time > LASTS) this.waiting.delete(vid);
    for (const [place, one] of this.found) if (now - one.last > ACCIDENT_LASTS) this.found.delete(place);
  }

  private quote(segment: Segment, quote: Quote) {
    const before = this.quotes.get(key(segment));
    if (!before || before.time <= quote.time) this.quotes.set(key(segment), quote);
  }
}

export interface Trip {
  since: number;
  from: number;
  to: number;
  reports: number;
}

/** A vehicle reports every 30 seconds of a trip; after a longer silence it is on another one. */
const REPORT_SECONDS = 30;

/** The last trip of a vehicle, by its reports in the order of their times; null if it has none. */
export function tripOf(reports: readonly { time: number; seg: number }[]): Trip | null {
  const last = reports[reports.length - 1];
  if (!last) return null;
  let first = reports.length - 1;
  while (first > 0 && reports[first]!.time - reports[first - 1]!.time <= REPORT_SECONDS) first--;
  return { since: reports[first]!.time, from: reports[first]!.seg, to: last.seg, reports: reports.length - first };
}

/** The segments in which drivers are alerted of an accident: its own, and those that lead to it. */
export function alertedSegments({ direction, seg }: Segment): [first: number, last: number] {
  const back = ALERTED_SEGMENTS - 1;
  return direction === EAST ? [Math.max(0, seg - back), seg] : [seg, Math.min(SEGMENTS - 1, seg + back)];
}

export function directionName(direction: number): string {
  return direction === EAST ? "eastbound" : "westbound";
}

/** A second of the day that was simulated. */
export function clockText(time: number): string {
  const whole = Math.max(0, Math.floor(time));
  const two = (value: number) => String(value).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/** A moment of a stream with dates, as the stream writes it: not in the time zone of whoever looks. */
export function dateText(time: number): string {
  return new Date(1000 * time).toLocaleString("en-GB", { timeZone: "UTC" });
}
