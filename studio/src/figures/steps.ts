// The figures of steps, and of a window of them: what flows, what it costs, what waits.

/** A line of `steps.jsonl`. */
export interface Step {
  step: number;
  version: number;
  born: number;
  seconds: number;
  boxes: Record<string, [Record<string, number>, Record<string, number>, number]>;
  slots: [level: number, slot: number, seconds: number, boxes: Record<string, number>, read: number, written: number, bytes: number, state?: Record<string, number>][];
  sources: Record<string, [tuples: number, waiting: number | null, waited: number, through: number | null, share: number | null]>;
  outputs: Record<string, [tuples: number, delay: number, values: Record<string, number>]>;
  shed?: Record<string, number>;
  held?: Record<string, number>;
  rejects?: number;
}

/** `status.json`. */
export interface Status {
  state: string;
  network: string;
  pid: number;
  started: string;
  finished: string | null;
  step: number;
  tuples_in: Record<string, number>;
  tuples_out: Record<string, number>;
  error: string | null;
  network_version: number;
  restarts: number;
  shed: Record<string, number>;
  set_aside: number;
  steering: { hold?: Record<string, number>; shed?: Record<string, Record<string, unknown>>; admit?: Record<string, number> };
  window: {
    utility?: number;
    until?: number;
    sources?: Record<string, { rate: number; waiting: number | null; event_time: string | number | null; lag: number | null; share: number | null }>;
    outputs?: Record<string, { rate: number; delay: number | null; p50: number | null; p99: number | null; utility: number | null; graph: [number, number][] }>;
    [more: string]: unknown;
  };
}

export interface BoxWindow {
  in: number;
  out: number;
  seconds: number;
  /** The share of the time that its busiest slot spends in it, from 0 to 1. */
  pressure: number;
  /** How much more its busiest slot does than the mean of all. */
  skew: number | null;
  /** The seconds of each slot that worked for it, by the number of the slot. */
  slots: [slot: number, seconds: number][];
}

export interface Window {
  steps: number;
  /** Seconds from the first step's beginning to the last one's end. */
  span: number;
  /** Seconds in which steps were at work. */
  busy: number;
  boxes: Record<string, BoxWindow>;
  /** Tuples by the port at which an arc ends: "box.port". */
  arrivals: Record<string, number>;
  shed: Record<string, number>;
  held: Record<string, number>;
  delays: Record<string, { p50: number; p99: number; last: number; tuples: number }>;
  sources: Record<string, { tuples: number; waiting: number | null; waited: number; share: number | null }>;
  stateBytes: number;
  /** Bytes of state by box. */
  state: Record<string, number>;
  stateWritten: number;
}

/** The place behind the last step that was born at a time or before. */
export function placeAt(steps: readonly Step[], time: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]!.born <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The steps of the last `seconds` before the place `end`; at least one, if there is any. */
export function lastSteps(steps: readonly Step[], end: number, seconds: number): Step[] {
  if (!end) return [];
  const last = steps[end - 1]!;
  let begin = end - 1;
  while (begin > 0 && steps[begin - 1]!.born > last.born - seconds) begin--;
  return steps.slice(begin, end);
}

export function windowOf(steps: readonly Step[]): Window {
  const boxes: Record<string, BoxWindow> = {};
  const arrivals: Record<string, number> = {};
  const shed: Record<string, number> = {};
  const sources: Window["sources"] = {};
  const delays: Record<string, [number, number][]> = {};
  const slots: Record<string, Map<number, number>> = {};
  let busy = 0;
  let written = 0;
  for (const step of steps) {
    busy += step.seconds;
    for (const [name, [came, went, seconds]] of Object.entries(step.boxes)) {
      const box = (boxes[name] ??= { in: 0, out: 0, seconds: 0, pressure: 0, skew: null, slots: [] });
      for (const [port, number] of Object.entries(came)) {
        box.in += number;
        arrivals[`${name}.${port}`] = (arrivals[`${name}.${port}`] ?? 0) + number;
      }
      for (const number of Object.values(went)) box.out += number;
      box.seconds += seconds;
    }
    for (const [, slot, , spent, , wrote] of step.slots) {
      written += wrote;
      for (const [name, seconds] of Object.entries(spent)) {
        const own = (slots[name] ??= new Map());
        own.set(slot, (own.get(slot) ?? 0) + seconds);
      }
    }
    for (const [arc, number] of Object.entries(step.shed ?? {})) shed[arc] = (shed[arc] ?? 0) + number;
    for (const [name, [tuples, waiting, waited, , share]] of Object.entries(step.sources)) {
      sources[name] = { tuples: (sources[name]?.tuples ?? 0) + tuples, waiting, waited, share };
    }
    for (const [name, [tuples, delay]] of Object.entries(step.outputs)) {
      if (tuples) (delays[name] ??= []).push([delay, tuples]);
    }
  }
  const first = steps[0];
  const last = steps[steps.length - 1];
  const state: Record<string, number> = {};
  for (const slot of last?.slots ?? []) for (const [name, held] of Object.entries(slot[7] ?? {})) state[name] = (state[name] ?? 0) + held;
  // A local run has its state in memory, and says it by box only.
  const stored = (last?.slots ?? []).reduce((sum, slot) => sum + slot[6], 0);
  const span = first && last ? Math.max(last.born + last.seconds - first.born, 1e-3) : 0;
  for (const [name, own] of Object.entries(slots)) {
    const box = boxes[name];
    if (!box) continue;
    const spent = [...own.values()];
    const most = Math.max(...spent);
    const mean = spent.reduce((sum, one) => sum + one, 0) / spent.length;
    box.pressure = busy > 0 ? Math.min(1, most / busy) : 0;
    box.slots = [...own].sort(([a], [b]) => a - b);
    box.skew = spent.length > 1 && mean > 0 ? most / mean : null;
  }
  return {
    steps: steps.length,
    span,
    busy,
    boxes,
    arrivals,
    shed,
    held: last?.held ?? {},
    delays: Object.fromEntries(
      Object.entries(delays).map(([name, found]) => [
        name,
        {
          p50: percentile(found, 0.5),
          p99: percentile(found, 0.99),
          last: found[found.length - 1]![0],
          tuples: found.reduce((sum, [, tuples]) => sum + tuples, 0),
        },
      ]),
    ),
    sources,
    stateBytes: stored || Object.values(state).reduce((sum, held) => sum + held, 0),
    state,
    stateWritten: written,
  };
}

/** A percentile of delays, each with how many tuples had it. */
export function percentile(delays: readonly [number, number][], share: number): number {
  const sorted = [...delays].sort((a, b) => a[0] - b[0]);
  const wanted = share * sorted.reduce((sum, [, tuples]) => sum + tuples, 0);
  let sum = 0;
  for (const [delay, tuples] of sorted) {
    sum += tuples;
    if (sum >= wanted) return delay;
  }
  return sorted[sorted.length - 1]?.[0] ?? 0;
}

/** The utility that a graph gives at a place; beyond its ends, that of the nearest point. */
export function utilityAt(graph: readonly (readonly [number, number])[], x: number): number {
  if (!graph.length) return 1;
  if (x <= graph[0]![0]) return graph[0]![1];
  for (let place = 1; place < graph.length; place++) {
    const [a, low] = graph[place - 1]!;
    const [b, high] = graph[place]!;
    if (x <= b) return low + ((high - low) * (x - a)) / (b - a);
  }
  return graph[graph.length - 1]![1];
}

export interface Ranked {
  name: string;
  kind: "box" | "arc" | "source" | "output";
  /** From 0 to 1 and beyond: how bad it is. */
  weight: number;
  why: string;
}

/** What to look at first: the boxes that take most of a step, what waits, what is late, what is left out. */
export function worst(window: Window, graphs: Record<string, readonly (readonly [number, number])[]>): Ranked[] {
  const found: Ranked[] = [];
  for (const [name, box] of Object.entries(window.boxes)) {
    if (box.pressure < 0.01) continue;
    const skew = box.skew !== null && box.skew > 1.3 ? `, one slot ${box.skew.toFixed(1)}× the mean` : "";
    found.push({ name, kind: "box", weight: box.pressure, why: `${percent(box.pressure)} of a step${skew}` });
  }
  for (const [name, waiting] of Object.entries(window.held)) {
    if (waiting) found.push({ name, kind: "arc", weight: 0.6, why: `${count(waiting)} tuples wait` });
  }
  for (const [name, number] of Object.entries(window.shed)) {
    found.push({ name, kind: "arc", weight: 0.7, why: `${count(number)} tuples left out` });
  }
  for (const [name, source] of Object.entries(window.sources)) {
    if (source.waiting && source.tuples && source.share === null && source.waiting > source.tuples) {
      const seconds = (source.waiting / source.tuples) * window.span;
      found.push({ name, kind: "source", weight: Math.min(1, seconds / 60), why: `${count(source.waiting)} wait to be read` });
    }
  }
  for (const [name, delay] of Object.entries(window.delays)) {
    const utility = utilityAt(graphs[name] ?? [], delay.p99);
    if (utility < 1) found.push({ name, kind: "output", weight: 1 + (1 - utility), why: `late: p99 ${seconds(delay.p99)}, utility ${utility.toFixed(2)}` });
  }
  return found.sort((a, b) => b.weight - a.weight);
}

export function count(number: number): string {
  if (!Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e9) return `${(number / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(number / 1e6).toFixed(size >= 1e7 ? 0 : 1)} M`;
  if (size >= 1e4) return `${(number / 1e3).toFixed(size >= 1e5 ? 0 : 1)} k`;
  return size >= 10 || Number.isInteger(number) ? Math.round(number).toLocaleString("en") : number.toFixed(1);
}

export function bytes(number: number): string {
  for (const unit of ["B", "kB", "MB"]) {
    if (number < 1000) return `${unit === "B" ? number : number.toFixed(1)} ${unit}`;
    number /= 1000;
  }
  return `${number.toFixed(1)} GB`;
}

export function seconds(number: number): string {
  if (number >= 90) return `${(number / 60).toFixed(1)} min`;
  if (number >= 1) return `${number.toFixed(number >= 10 ? 0 : 1)} s`;
  if (number > 0 && number < 5e-4) return `${Math.ceil(number * 1e6)} µs`;
  return `${Math.round(number * 1000)} ms`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
