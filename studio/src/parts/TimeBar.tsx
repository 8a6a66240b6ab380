// The slider over the steps of the run, with the tuples that came in behind it.

import { useEffect, useMemo, useState } from "react";
import type { Address, Go } from "../address";
import { placeAt, type Step } from "../figures/steps";
import { DEFAULT_WINDOW, PLAY_SECONDS, useRun, type RunStore } from "../run";

interface Props {
  run: RunStore;
  address: Address;
  go: Go;
}

const WINDOWS = [2, 10, 60, 300];
const BARS = 160;

export function TimeBar({ run, address, go }: Props) {
  const { steps, status } = useRun(run);
  const at = Number(address.values.at);
  const live = !(at > 0);
  const length = Number(address.values.window) || DEFAULT_WINDOW;
  const first = steps[0]?.born ?? 0;
  const last = steps[steps.length - 1]?.born ?? 0;
  const bars = useMemo(() => histogram(steps, BARS), [steps]);
  const moment = live ? last : Math.min(last, Math.max(first, at));
  const shown = steps[placeAt(steps, moment) - 1];
  const move = (value: number) => go({ at: value >= last ? null : value.toFixed(3) });
  const [plays, setPlays] = useState(false);
  useEffect(() => {
    if (live) setPlays(false);
  }, [live]);
  useEffect(() => {
    if (!plays || live) return;
    const timer = setTimeout(() => move(moment + PLAY_SECONDS), 1000 * PLAY_SECONDS);
    return () => clearTimeout(timer);
  }, [plays, live, moment]); // eslint-disable-line
  const play = () => {
    if (live) move(first);
    setPlays(!plays || live);
  };
  return (
    <footer className="timebar">
      <label className="window">
        Window
        <select value={length} onChange={(event) => go({ window: event.target.value })} aria-label="Length of the window">
          {WINDOWS.map((one) => (
            <option key={one} value={one}>{one < 300 ? `${one} s` : `${one / 60} min`}</option>
          ))}
        </select>
      </label>
      <button onClick={play} disabled={steps.length < 2} aria-pressed={plays && !live} title={live ? "Play the run again from its first step, at its own pace" : "Play on from this moment, at the pace of the run"}>
        {plays && !live ? "❚❚ Stay" : "▶ Play"}
      </button>
      <div className="track">
        <svg viewBox={`0 0 ${BARS} 24`} preserveAspectRatio="none" aria-hidden="true">
          {bars.map((height, place) => (
            <rect key={place} x={place} width={0.8} y={24 - 22 * height} height={22 * height} />
          ))}
        </svg>
        <input
          type="range"
          min={first}
          max={last}
          step="any"
          value={moment}
          disabled={steps.length < 2}
          onChange={(event) => move(Number(event.target.value))}
          aria-label="Moment"
          aria-valuetext={shown ? `step ${shown.step}` : "no step yet"}
        />
      </div>
      <span className="moment" data-testid="moment">
        {shown ? `step ${shown.step.toLocaleString("en")} · ${clock(shown.born)}` : "no step yet"}
      </span>
      <button className={live ? "live on" : "live"} onClick={() => go({ at: null })} aria-pressed={live}>
        {status && status.state !== "running" && status.state !== "paused" ? "End" : "Live"}
      </button>
    </footer>
  );
}

/** The tuples that came in over time, in so many pieces, each from 0 to 1. */
export function histogram(steps: readonly Step[], pieces: number): number[] {
  const sums = new Array<number>(pieces).fill(0);
  const first = steps[0]?.born ?? 0;
  const span = (steps[steps.length - 1]?.born ?? 0) - first;
  for (const step of steps) {
    const place = span > 0 ? Math.min(pieces - 1, Math.floor(((step.born - first) / span) * pieces)) : 0;
    for (const [tuples] of Object.values(step.sources)) sums[place]! += tuples;
  }
  const most = Math.max(1, ...sums);
  return sums.map((one) => one / most);
}

function clock(time: number): string {
  return new Date(time * 1000).toLocaleTimeString("en-GB");
}
