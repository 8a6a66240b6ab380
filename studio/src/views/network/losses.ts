// What an output misses: the tuples that are left out, held, or wait to be settled on the arcs that lead to it.

import { useEffect, useState } from "react";
import { count, type Status, type Window } from "../../figures/steps";
import { outputsBehind } from "../../graph/model";
import { get, type NetworkFacts, type Overflowed } from "../../wire/api";

export interface Losses {
  /** Tuples left out since the run began, and in the window. */
  shed: number;
  shedNow: number;
  /** Tuples that wait in queues at the end of the window. */
  held: number;
  /** Of those left out: so many are kept, to be settled later. */
  waiting: number;
  /** Answers that came late, by settling. */
  settled: number;
}

export const NOTHING_OVERFLOWED: Overflowed = { waiting: 0, ports: {}, late: {} };

/** By output. A tuple on an arc that leads to several outputs counts for each of them. */
export function lossesOf(network: NetworkFacts, window: Window | undefined, status: Status, overflow: Overflowed): Record<string, Losses> {
  const found: Record<string, Losses> = {};
  for (const box of network.boxes) {
    if (box.kind === "output") found[box.name] = { shed: 0, shedNow: 0, held: 0, waiting: 0, settled: overflow.late[box.name] ?? 0 };
  }
  const behind = outputsBehind(network);
  for (const arc of network.arcs) {
    for (const output of behind.get(arc.name) ?? []) {
      const own = found[output]!;
      own.shed += status.shed[arc.name] ?? 0;
      own.shedNow += window?.shed[arc.name] ?? 0;
      own.held += window?.held[arc.name] ?? 0;
      own.waiting += overflow.ports[`${arc.end}.${arc.end_port}`] ?? 0;
    }
  }
  return found;
}

/** In words, without what says nothing. */
export function lossesInWords({ shed, held, waiting, settled }: Losses): string {
  const parts = [
    shed ? `${count(shed)} left out before it` : "",
    held ? `${count(held)} held` : "",
    waiting ? `${count(waiting)} wait to be settled` : "",
    settled ? `${count(settled)} settled late` : "",
  ];
  return parts.filter(Boolean).join(", ");
}

const LOOK_SECONDS = 2;

/** What was left out to be settled later; looked at while anything is left out, and once more behind the end. */
export function useOverflow(status: Status | null | undefined): Overflowed {
  const [overflow, setOverflow] = useState<Overflowed>(NOTHING_OVERFLOWED);
  const leftOut = status ? Object.keys(status.shed).length > 0 : false;
  const active = status?.state === "running" || status?.state === "paused";
  useEffect(() => {
    if (!leftOut) return;
    const look = () => get<Overflowed>("overflow").then(setOverflow, () => {});
    void look();
    if (!active) return;
    const timer = setInterval(() => void look(), 1000 * LOOK_SECONDS);
    return () => clearInterval(timer);
  }, [leftOut, active]);
  return overflow;
}
