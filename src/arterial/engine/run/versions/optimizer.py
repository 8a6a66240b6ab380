"""The optimizer of a run: gathers figures, asks after every step what to do, and keeps a log of its decisions.

What it decides is in `arterial.optimize.decide`. The log, `optimizer.jsonl` in the run's own folder, has a line for
each decision (what, which figures, what was expected) and one for what came of it; `arterial explain DIR --why` reads
it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.optimize import Decision, Measured, Memory, Patience, decide, propose
from arterial.optimize.decide import outline, total
from arterial.storage.place import put_in_place

LOG = "optimizer.jsonl"
WINDOW = 64
"""It looks back at most so many steps."""
MOST_LINES = 1000
"""The log keeps so many lines, the latest."""


class Optimizer:
    """What a run's optimizer has seen and decided; `folder` is where its log is kept."""

    def __init__(self, folder: Path, *, automatic: bool) -> None:
        self._folder, self._automatic, self._patience = folder, automatic, Patience()
        self._steps: deque[dict[str, Measured]] = deque(maxlen=WINDOW)
        self._version = 0
        self._memory = Memory()
        self._pending: dict[str, Any] | None = None

    def add_step(self, version: int, reports: Iterable[Mapping[str, Any]]) -> None:
        """Take in what the tasks of a step report. Figures of another version of the network do not count."""
        if version != self._version:
            self._steps.clear()
            self._version = version
        step: dict[str, Measured] = {}
        for report in reports:
            for name, (tuples_in, tuples_out, seconds) in report["boxes"].items():
                step[name] = step.get(name, Measured()).plus(Measured(tuples_in, tuples_out, seconds))
        if any(one.came for one in step.values()):
            self._steps.append(step)
        self._see_what_came()

    def next_network(self, network: NetworkValue) -> Decision | None:
        """The network that should run from now on, if the run optimises itself and another one is better."""
        if not self._automatic:
            return None
        self._memory, decision = decide(network, list(self._steps), self._memory, self._patience)
        return decision

    def on_demand(self, network: NetworkValue) -> Decision | None:
        """The network that is better by what was seen so far, however short that was; None if none saves anything."""
        if not self._steps:
            raise RunError(f"network {network.name!r}: no step of this version is done yet; ask again after one")
        decision = propose(network, total(list(self._steps)[-self._patience.steps :]))
        return decision if decision is not None and decision.saving > 0 else None

    def note(self, decision: Decision, version: int, step: int) -> None:
        """Write down that a version runs by a decision of the optimizer."""
        self._pending = {"version": version, "before": decision.before, "expected": decision.after}
        self._append({"version": version, "step": step, **decision.describe()})

    def note_refusal(self, decision: Decision, why: str) -> None:
        """Write down that the engine cannot go on with a network; it is not proposed again."""
        self._memory = replace(self._memory, refused=self._memory.refused | {outline(decision.network)})
        self._append({"refused": why, **decision.describe()})

    def _see_what_came(self) -> None:
        """After some steps of a version that the optimizer made, write down what it really costs."""
        if (
            self._pending is None
            or self._pending["version"] != self._version
            or len(self._steps) < self._patience.steps
        ):
            return
        figures = total(self._steps)
        seconds = sum(one.seconds for one in figures.values())
        tuples = sum(sum(one.tuples_out.values()) for one in figures.values() if not one.tuples_in)
        if tuples:
            came = 1e6 * seconds / tuples
            before = self._pending["before"]
            self._append(
                {
                    "version": self._version,
                    "came": round(came, 6),
                    "saved": round(1 - came / before, 4) if before else 0.0,
                }
            )
            self._pending = None

    def _append(self, line: Mapping[str, Any]) -> None:
        lines = [*read_log(self._folder)[-MOST_LINES + 1 :], line]
        put_in_place(self._folder / LOG, "".join(json.dumps(one) + "\n" for one in lines))


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The decisions of a run's optimizer, the oldest first; `folder` is the run's own."""
    path = folder / LOG
    if not path.exists():
        return []
    try:
        return [dict(json.loads(line)) for line in path.read_text().splitlines()]
    except (OSError, ValueError, TypeError) as broken:
        raise RunError(
            f"{path}: is damaged ({type(broken).__name__}: {broken}); delete it: it is a log, and nothing depends on it"
        ) from None


def in_words(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """The log for people, a text for each decision."""
    came = {line["version"]: line for line in lines if "came" in line}
    said = []
    for line in lines:
        if "tactics" not in line:
            continue
        if "refused" in line:
            head = f"not done: {line['refused']}"
        else:
            head = f"version {line['version']}, after step {line['step']}"
        text = [
            f"{head}: {', '.join(line['tactics'])}",
            f"  expected: {line['expected']:.3g} s instead of {line['before']:.3g} s for a million tuples, "
            f"{100 * line['saving']:.0f} % less",
        ]
        result = came.get(line.get("version"))
        if result is not None and "refused" not in line:
            text.append(f"  came: {result['came']:.3g} s, {100 * result['saved']:.0f} % less")
        text += [
            f"  because of {name}: {values['microseconds']:.3g} µs a tuple, lets {100 * values['selectivity']:.3g} % "
            "through"
            for name, values in line["figures"].items()
        ]
        said.append("\n".join(text))
    return said
