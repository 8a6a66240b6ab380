// The run that is shown: its status and steps as they come, kept once for all views.

import { useMemo, useSyncExternalStore } from "react";
import { lastSteps, placeAt, windowOf, type Status, type Step, type Window } from "./figures/steps";
import type { Address } from "./address";
import { get, theLive } from "./wire/api";

const MOST_STEPS = 20_000;
const OLDER_STEPS = 2000;
/** How often the moment moves on while it plays, at the pace of the run. */
export const PLAY_SECONDS = 0.5;
export const DEFAULT_WINDOW = 10;

export interface RunState {
  connected: boolean;
  status: Status | null;
  steps: readonly Step[];
  /** The server's clock when it last spoke. */
  now: number;
}

export class RunStore {
  state: RunState = { connected: false, status: null, steps: [], now: 0 };
  private watchers = new Set<() => void>();

  constructor() {
    const live = theLive();
    live.onConnection((connected) => this.set({ connected }));
    live.open(
      "figures",
      {},
      {
        frame: ({ header }) => {
          const status = header.status as Status;
          const first = this.state.steps.length === 0;
          this.set({ status, steps: joined(this.state.steps, header.steps as Step[]), now: header.now as number });
          if (first) void this.lookBack();
        },
        error: (message) => this.set({ status: this.state.status && { ...this.state.status, error: message } }),
      },
      true,
    );
  }

  /** The steps before those that came at first, as far as the run still has them. */
  private async lookBack() {
    for (;;) {
      const first = this.state.steps[0];
      if (!first || first.step <= 1 || this.state.steps.length >= MOST_STEPS) return;
      const older = await get<Step[]>(`steps?before=${first.step}&most=${OLDER_STEPS}`).catch(() => []);
      if (!older.length || this.state.steps[0] !== first) return;
      this.set({ steps: [...older, ...this.state.steps].slice(-MOST_STEPS) });
    }
  }

  subscribe = (watcher: () => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  private set(some: Partial<RunState>) {
    this.state = { ...this.state, ...some };
    for (const watcher of this.watchers) watcher();
  }
}

/** Steps with those that came after; a run that began anew begins anew here. */
export function joined(steps: readonly Step[], more: readonly Step[]): readonly Step[] {
  if (!more.length) return steps;
  const last = steps[steps.length - 1];
  const first = more[0]!;
  if (last && first.step <= last.step) {
    const again = steps.findIndex((step) => step.step === first.step && step.born === first.born);
    steps = again < 0 ? [] : steps.slice(0, again);
  }
  return [...steps, ...more].slice(-MOST_STEPS);
}

export function useRun(run: RunStore): RunState {
  return useSyncExternalStore(run.subscribe, () => run.state);
}

export interface Moment {
  /** The place behind the last step that counts. */
  end: number;
  /** Whether it is now, and not a moment of the past. */
  live: boolean;
  seconds: number;
  window: Window;
}

/** The window that the address asks for: the last seconds before a moment, or before now. */
export function useMoment(state: RunState, address: Address): Moment {
  const at = Number(address.values.at);
  const seconds = Number(address.values.window) || DEFAULT_WINDOW;
  const live = !(at > 0);
  const end = live ? state.steps.length : placeAt(state.steps, at);
  const window = useMemo(() => windowOf(lastSteps(state.steps, end, seconds)), [state.steps, end, seconds]);
  return { end, live, seconds, window };
}
