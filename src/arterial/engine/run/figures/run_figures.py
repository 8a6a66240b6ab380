"""Keeps what a run says of itself, and asks its controllers: after every step, before it is committed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from arterial.engine.host.failures import trim_rejects
from arterial.engine.host.outcome_files import REJECTS
from arterial.engine.plan.description import write_description
from arterial.engine.plan.plan import Plan
from arterial.engine.run.checkpoint.folder import STATUS_FILE
from arterial.engine.run.figures.statistics import Statistics
from arterial.engine.run.figures.status import Status, StatusFile
from arterial.engine.run.figures.step_figures import Delays, Report, figures_of
from arterial.engine.run.watch.watchers import Watchers
from arterial.engine.steering.arcs import write_arcs
from arterial.engine.steering.control import read_control
from arterial.engine.steering.decisions import Controller, Decision, decide, read_decision, write_decision
from arterial.errors import RunError
from arterial.figures.steering import Steering
from arterial.figures.steps_file import StepsFile
from arterial.network.network import Port


class RunFigures:
    """The figures of a run, its `status.json` and `steps.jsonl`, and what its controllers decide.

    `folder` is the run's own folder in its checkpoint. A temporary run leaves no figures in files.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        controllers: Sequence[Controller] = (),
        watchers: Watchers | None = None,
        *,
        temporary: bool,
    ) -> None:
        self._folder, self._controllers, self.watchers = folder, controllers, watchers or Watchers()
        self.statistics = Statistics(plan)
        self._status = StatusFile(plan, None if temporary else folder.parent / STATUS_FILE)
        self._steps = None if temporary else StepsFile(folder.parent)
        self._decision = self._decided_before()
        self._delays: dict[int, Delays] = {}
        self._ended = time.time()
        self._plan = plan
        self._arcs = write_arcs(folder, plan)
        self.watchers.begin(self.status)
        write_description(folder, plan)

    @property
    def status(self) -> Status:
        """What `status.json` says."""
        return self._status.status

    def become(self, state: str, error: str | None = None) -> None:
        """Another state."""
        before = self.status
        self._status.become(state, error)
        if self.status is not before:
            self.watchers.become(self.status)

    def add_step(self, plan: Plan, reports: Sequence[Report], driven: Mapping[str, float] | None = None) -> None:
        """Make figures of the reports of a step, keep them, and decide how the next one runs.

        `plan` is the one that the step ran with, `driven` says when the driver had written which output.
        """
        now = time.time()
        version = reports[0]["version"]
        if version not in self._delays:
            self._delays[version] = Delays(plan.network)
        figures = figures_of(
            plan, self._delays[version], reports, max(0.0, now - max(self._ended, reports[0]["born"])), driven
        )
        self._ended = now
        control = read_control(self._folder)
        drops = {**self._decision.steering.shed, **control.shed}
        # A drop that is gone may have been a predicate.
        left_out = [drops.get(arc) for arc, number in figures.shed.items() if number]
        self.statistics.add_step(figures, by_value=any(drop is None or drop.keep for drop in left_out))
        if self._steps:
            self._steps.add(figures)
        if figures.rejects:
            trim_rejects(self._folder / REJECTS)
        decided = self._decision.steering
        if self._controllers:
            before = Steering(version, decided.admit, decided.hold, decided.shed)
            decided = decide(self._controllers, self.statistics.window, plan.network, self._arcs, before)
        decision = Decision(figures.step, figures.held, decided)
        if self._says_more(decision):
            write_decision(self._folder, decision)
        self._decision = decision
        steering = {
            "admit": dict(decided.admit),
            "hold": {arc: take for arc, take in {**decided.hold, **control.hold}.items() if arc in self._arcs},
            "shed": {a: vars(drop) for a, drop in {**decided.shed, **control.shed}.items() if a in self._arcs},
        }
        self._status.add_step(figures, steering, self.statistics.describe_window())
        self.watchers.step(figures, self.status, decided)

    def follow(self, plan: Plan) -> None:
        """Go on with another version of the network."""
        self.statistics.follow(plan)
        self._plan = plan
        self._arcs = write_arcs(self._folder, plan)
        write_description(self._folder, plan)

    def is_steered(self, *, between_steps: bool) -> bool:
        """Whether tuples of some arc are left out, or wait in a queue; unless it is asked between two steps, also
        whether the step at hand may let some wait."""
        decided, control = self._decision, read_control(self._folder)
        may_wait = decided.steering.hold if not between_steps else ()
        commands = (*control.hold, *control.shed)  # they stay when another version has no such arc
        return bool(decided.held or may_wait or decided.steering.shed or self._arcs.keys() & {*commands})

    @property
    def sheds_with_overflow(self) -> bool:
        """Whether tuples are left out now that are to be settled later: the load has not fallen yet."""
        drops = (*self._decision.steering.shed.values(), *read_control(self._folder).shed.values())
        return any(drop.overflow for drop in drops)

    def check_queues(self, plan: Plan) -> None:
        """Refuse a version in which tuples that wait in a queue would not be found."""
        arcs = {str(arc): arc for arc in plan.network.arcs}
        for name, waiting in self._decision.held.items():
            if name not in arcs or _place(plan, arcs[name].end) != _place(self._plan, arcs[name].end):
                raise RunError(
                    f"network {plan.network.name!r}: {waiting:,} tuples wait on the arc {name}, which this version "
                    "has not, or in another place; let them through first"
                )

    def leave(self) -> None:
        """Write nothing more: the files are another run's."""
        self._status.leave()
        if self._steps:
            self._steps.close()
        self._steps = None

    def close(self) -> None:
        """Write no more steps, and let go of the watchers."""
        self.watchers.close()
        if self._steps:
            self._steps.close()

    def _decided_before(self) -> Decision:
        """The last decision, if somebody is there who can change it; how much waits in queues stays in any case."""
        before = read_decision(self._folder)
        if self._controllers or before.steering == Steering():
            return before
        write_decision(self._folder, alone := Decision(before.step, before.held))
        return alone

    def _says_more(self, decision: Decision) -> bool:
        """Whether the planner must know: not if nothing was decided, nothing waits, and that is not new."""
        before = self._decision
        return bool(decision.held or before.held) or decision.steering != before.steering


def _place(plan: Plan, end: Port) -> tuple[object, ...]:
    superbox = plan.superbox_of(end.box)
    return superbox.level, superbox.where, superbox.key
