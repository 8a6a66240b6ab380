import { useState } from "react";
import type { Go } from "../address";
import { count, seconds } from "../figures/steps";
import { useRun, type RunStore } from "../run";
import type { View } from "../views";
import { command, type NetworkFacts, type SubjectFacts } from "../wire/api";
import { nextTheme, useTheme } from "./theme";

interface Props {
  subject: SubjectFacts;
  network: NetworkFacts;
  run: RunStore | null;
  views: View[];
  view: View;
  go: Go;
  onSearch(): void;
}

export function Header({ subject, network, run, views, view, go, onSearch }: Props) {
  const [theme, setTheme] = useTheme();
  return (
    <header className="header">
      <span className="mark" aria-hidden="true">
        <svg viewBox="0 0 16 16" width="20" height="20">
          <path d="M1 8h4l2-5 3 10 2-5h3" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinejoin="round" strokeLinecap="round" />
        </svg>
      </span>
      <h1 title={subject.name}>{network.name}</h1>
      {run ? <RunState run={run} /> : <span className="pill">not running</span>}
      <span className="grow" />
      {views.length > 1 && (
        <nav aria-label="Views" className="tabs">
          {views.map((one) => (
            <button key={one.id} aria-current={one === view ? "page" : undefined} onClick={() => go({}, one.id)}>
              {one.title}
            </button>
          ))}
        </nav>
      )}
      <button className="search-button" onClick={onSearch} aria-label="Search (Ctrl K)">
        Search <kbd>Ctrl K</kbd>
      </button>
      <button className="quiet" onClick={() => setTheme(nextTheme(theme))} aria-label={`Colours: ${theme}`} title={`Colours: ${theme}`}>
        {theme === "light" ? "☀" : theme === "dark" ? "☾" : "◐"}
      </button>
    </header>
  );
}

function RunState({ run }: { run: RunStore }) {
  const { status, steps, connected, now } = useRun(run);
  const [error, setError] = useState<string | null>(null);
  if (!status) return <span className="pill">{connected ? "…" : "connecting"}</span>;
  const active = status.state === "running" || status.state === "paused";
  const last = steps[steps.length - 1];
  const since = active && last ? now - (last.born + last.seconds) : 0;
  const give = (asked: "pause" | "resume" | "step") =>
    command({ command: asked, trains: 1 }).then(
      () => setError(null),
      (mistake: Error) => setError(mistake.message),
    );
  // Nothing may have come, or a long step may be at work: the figures do not say which.
  const waits = connected && status.state === "running" && since > 2;
  return (
    <>
      <span className={`pill state-${!connected ? "failed" : waits ? "waits" : status.state}`} role="status" data-testid="state">
        {!connected ? "connection lost" : waits ? `no step ended for ${seconds(since)}` : status.state}
      </span>
      {status.restarts > 0 && <span className="pill warn" data-testid="restarts" title="So often another process went on with this run, where the one before had ended">{status.restarts === 1 ? "1 restart" : `${status.restarts} restarts`}</span>}
      {active && (
        <span className="buttons" role="group" aria-label="Steer the run">
          {status.state === "paused" ? (
            <button onClick={() => give("resume")} title="Go on">▶ Resume</button>
          ) : (
            <button onClick={() => give("pause")} title="Stop between two trains">❚❚ Pause</button>
          )}
          <button onClick={() => give("step")} title="Pause, and go on by one train">Step ▸|</button>
        </span>
      )}
      <span className="facts">
        <span>step <b data-testid="step">{status.step.toLocaleString("en")}</b></span>
        <span>in <b>{count(sum(status.tuples_in))}</b></span>
        <span>out <b>{count(sum(status.tuples_out))}</b></span>
        {typeof status.window.utility === "number" && <span>utility <b>{status.window.utility.toFixed(2)}</b></span>}
      </span>
      {(error ?? status.error) && <span className="pill error" role="alert" title={error ?? status.error ?? ""}>{error ?? status.error}</span>}
    </>
  );
}

function sum(numbers: Record<string, number>): number {
  return Object.values(numbers).reduce((total, one) => total + one, 0);
}
