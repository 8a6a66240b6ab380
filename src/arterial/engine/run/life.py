"""The life of a run, wherever it runs: it is active, it can be steered, it ends or fails, its outputs can be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any
from weakref import finalize

import polars as pl

from arterial.connectors.points.contents import POINTS, begin_again
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.memory import MemorySink
from arterial.connectors.source import Source
from arterial.engine.plan.plan import Plan
from arterial.engine.plan.successor import new_arcs
from arterial.engine.plan.views import histories
from arterial.engine.run.checkpoint.folder import remove_unless_needed
from arterial.engine.run.checkpoint.manifest import describe_boxes
from arterial.engine.run.control.settlement import Settlement
from arterial.engine.run.control.view_keeper import ViewKeeper
from arterial.engine.run.figures.run_figures import RunFigures
from arterial.engine.run.figures.statistics import Statistics
from arterial.engine.run.figures.status import Status
from arterial.engine.run.show import html
from arterial.engine.run.states import FAILED, FINISHED, PAUSED, RUNNING, STOPPED
from arterial.engine.run.versions import requests
from arterial.engine.run.versions.optimizer import Optimizer
from arterial.engine.run.versions.versions import Version
from arterial.engine.steering import control
from arterial.engine.steering.arcs import check_drop, check_hold, find_arc, read_arcs, with_gone
from arterial.errors import ArterialError, RunError, near
from arterial.figures.steering import Drop
from arterial.network.network import NetworkValue, Port


class Run(ABC):
    """A running network. `run["alerts"]` reads what has arrived at an output so far."""

    plan: Plan
    checkpoint: Path
    _figures: RunFigures
    _folder: Path
    _temporary: bool
    _optimizer: Optimizer
    _settlement: Settlement
    _version: Version
    _views: ViewKeeper
    notices: tuple[str, ...]
    """What the user should know about the sources, such as lines that were set aside; at the end it may be more."""

    def __init__(self) -> None:
        self._over = Event()
        self._error: ArterialError | None = None
        self.taken_over = False
        """Whether it ended because another run has its checkpoint; the files there are that one's to write."""

    @property
    @abstractmethod
    def sinks(self) -> Mapping[str, Sink]:
        """The sinks of the outputs and connection points, by name."""

    @property
    @abstractmethod
    def sources(self) -> Mapping[str, Source]:
        """The sources of our own, by name; not the frames of Spark."""

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether it came to the end of all sources."""

    @property
    def active(self) -> bool:
        """Whether it still runs."""
        return not self._over.is_set()

    @property
    def state(self) -> str:
        """One of: running, paused, stopped, finished, failed."""
        if self.active:
            return PAUSED if self.paused else RUNNING
        return FAILED if self._error else FINISHED if self.ended else STOPPED

    @property
    def status(self) -> Status:
        """What `status.json` in its checkpoint says: state, counts and figures of the whole run."""
        return self._figures.status

    @property
    def statistics(self) -> Statistics:
        """Counts, costs, selectivities and delays, of this process."""
        return self._figures.statistics

    def _late_notices(self) -> tuple[str, ...]:
        """What the user should know of tuples that came too late where the engine puts them in order."""
        said, taken = [], {arc.begin for arc in self.plan.network.arcs}
        for box in self.plan.sources:
            source = self.sources.get(box.name)
            if source is not None and source.ordered:
                continue  # It knows itself what is late, and says so.
            lost = [port for port in box.outputs[1:] if Port(box.name, port) not in taken]
            if late := sum(self.statistics.box(box.name).by_port.get(port, 0) for port in lost):
                said.append(
                    f"source {box.name!r}: {late:,} tuple(s) are late or have no time, and no box takes them: draw the "
                    "stream's `late`, or give the source a disorder"
                )
        return tuple(said)

    @property
    def metrics_url(self) -> str | None:
        """Where its metrics are served, if that was asked for."""
        return self._figures.watchers.metrics_url

    @property
    def paused(self) -> bool:
        """Whether it waits between two trains for a command."""
        return self.active and control.read_control(self._folder).paused

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; whether it is. Raises what ended it, if that was an error."""
        over = self._over.wait(seconds)
        if over and self._error is not None:
            raise self._error
        return over

    @abstractmethod
    def stop(self, seconds: float = 60.0) -> None:
        """End it after the train at hand; after so many seconds, at once."""

    @abstractmethod
    def pause(self) -> None:
        """Stop between two trains."""

    @abstractmethod
    def resume(self) -> None:
        """Go on."""

    @abstractmethod
    def step(self, trains: int = 1) -> None:
        """Pause, if it was not, and go on by so many trains."""

    def shed(self, arc: str, share: float = 0.0, *, keep: str | None = None, overflow: bool = False) -> None:
        """Leave out a share of an arc's tuples from the next train on, and all for which `keep` is not true.

        An arc is `box`, `box.port` or `a → b`. With neither, all of them go on again. With `overflow`, what is left out
        is kept, and settled when the load has fallen (`settled`).
        """
        folder = self._steered()
        drop = Drop(share, keep=keep, overflow=overflow) if share or keep is not None else None
        arcs = read_arcs(folder)
        found = find_arc(arc, arcs if drop else with_gone(arcs, control.read_control(folder).shed))
        if drop is not None:
            check_drop(found, drop)
        control.shed(folder, found.name, drop)

    def hold(self, arc: str, take: int | None = 0) -> None:
        """Let an arc's tuples wait from the next train on, but for `take` of them in each step, the oldest; None: let
        them go on again."""
        folder = self._steered()
        arcs = read_arcs(folder)
        found = find_arc(arc, arcs if take is not None else with_gone(arcs, control.read_control(folder).hold))
        if take is not None:
            check_hold(found, take)
        control.hold(folder, found.name, take)

    @abstractmethod
    def _steered(self) -> Path:
        """The folder with the commands to this run; raises if it takes none."""

    @abstractmethod
    def replace(
        self,
        network: NetworkValue,
        sinks: Mapping[str, Sink] | None = None,
        *,
        history: Mapping[str, str] | None = None,
    ) -> int:
        """Let another version of the network run from the next train on; its number.

        `history` names new arcs, each with the connection point whose tuples it begins with.
        """

    def attach(self, point: str, query: Any = None, **options: Any) -> Any:
        """A query on a connection point or view of this run, as `arterial.attach`: an iterable of answers."""
        # SQL is above the engine: it is looked up when it is asked for.
        asked = import_module("arterial.sql.attach")
        wanted = asked.Options(**options)
        return asked.attach_to(self.checkpoint, point, query, wanted, active=lambda: self.active)

    def adopt(self, point: str, query: Any, output: str, sink: Sink | None = None, *, history: bool = True) -> int:
        """Let a query on a connection point become part of the network, with a new output; the version's number.

        In its first step it is given all that the connection point keeps, then what comes: its answers, and its state,
        are those that `attach` would have. Without `history` it begins empty, with the next train.
        """
        old = self.plan.network
        network = import_module("arterial.sql.attach").adopted_network(old, point, query, output)
        arcs = new_arcs(old, network, point) if history else {}
        return self.replace(network, {} if sink is None else {output: sink}, history=arcs)

    def why(self, output: str, condition: str = "", *, row: int | None = None, seconds: float = 20.0) -> Any:
        """Why a row of an output is as it is: an `Explanation`, as from `arterial.why`, for the sources of this run.

        They are read again from their beginning, so the run is not touched; those that come only once are refused.
        """
        explain = import_module("arterial.causes.why").explain_row
        points = self.checkpoint / POINTS
        return explain(self.plan.network, self.sources, output, condition, row=row, seconds=seconds, points=points)

    def _remove_temporary(self) -> None:
        """Remove a checkpoint that was only for this run; one with connection points when nobody has the run."""
        if self._temporary:
            if any(box.keeping is not None for box in self.plan.network.boxes):
                finalize(self, remove_unless_needed, self._folder)
            else:
                remove_unless_needed(self._folder)

    def _answer_requests(self, folder: Path) -> None:
        """Answer what other processes asked for, between two steps; `folder` is the run's own in its checkpoint."""
        for asked in requests.waiting(folder):
            if (path := requests.take(asked)) is None:
                continue
            try:
                request = requests.read_request(path)
                if request.what == requests.REPLACE:
                    answer = self._replace_as_asked(*requests.network_of(path, request), request.history, request.base)
                elif request.what == requests.OPTIMISE:
                    answer = self._optimise_as_asked()
                elif request.what == requests.SAVEPOINT:
                    answer = requests.Answer(True, self._link_aside())
                elif request.what == requests.SETTLE:
                    answer = requests.Answer(True, self._settle_as_asked())
                else:
                    raise RunError(f"unknown request {request.what!r}")
            except ArterialError as refusal:
                answer = requests.Answer(False, str(refusal))
            except Exception as fault:  # a user's own class, a full disk: the run goes on as it was
                answer = requests.Answer(False, f"{type(fault).__name__}: {fault}")
            requests.give_answer(path, answer)

    @abstractmethod
    def _link_aside(self) -> str:
        """Link the files of the checkpoint aside, between two steps; where. See `savepoint`."""

    def _replace_as_asked(
        self, network: NetworkValue, sinks: Mapping[str, Sink], history: Mapping[str, str], base: int
    ) -> requests.Answer:
        if not sinks and describe_boxes(network) == describe_boxes(self.plan.network):
            # Asked for again, maybe by the same request before a crash.
            return requests.Answer(True, "it runs already", self.version)
        if base and base != self.version:  # it would undo what was changed since
            said = f"it was made from version {base} of the network, and version {self.version} runs by now; ask again"
            return requests.Answer(False, said, self.version)
        version = self.replace(network, sinks, history=history)
        return requests.Answer(True, f"accepted as version {version}", version, self._first_step_of(version))

    def _settle_as_asked(self) -> str:
        settled = self._settlement.settle()
        return f"settled {settled:,} tuples that were left out; the answers are in {self._settlement.place}"

    def settle(self) -> int:
        """Run what was left out with `overflow` until now, without waiting until the load has fallen; how many tuples
        that were. `settled` has the answers. At the end of a run it is done by itself."""
        return self._settlement.settle()

    def settled(self, output: str) -> pl.DataFrame:
        """The late answers at an output: those of the tuples that were left out with `overflow` and settled."""
        known = self.plan.network.output_names
        if output not in known:
            raise RunError(f"network {self.plan.network.name!r} has no output {output!r}; it has: {', '.join(known)}")
        return self._settlement.read(output, self.plan.network)

    def _settle_some(self) -> None:
        """Between two steps: settle a part, if the load has fallen."""
        self._settlement.settle_some(self._figures.sheds_with_overflow)

    def _optimise_as_asked(self) -> requests.Answer:
        if self._figures.is_steered(between_steps=False):
            raise RunError("tuples are shed or held on arcs of the network; ask again when that is over")
        decision = self._optimizer.on_demand(self.plan.network)
        if decision is None:
            return requests.Answer(True, "nothing to change: no tactic makes the network cheaper", self.version)
        version = self.replace(decision.network)
        self._optimizer.note(decision, version, self.status.step)
        said = (
            f"accepted as version {version}: {', '.join(decision.tactics)}; expected to cost "
            f"{100 * decision.saving:.0f} % less"
        )
        return requests.Answer(True, said, version, self._first_step_of(version))

    def _optimise(self, version: int, reports: list[Mapping[str, Any]]) -> None:
        """After a step: change the network if that pays."""
        self._optimizer.add_step(version, reports)
        if version != self.version or self._figures.is_steered(between_steps=True):
            return  # a change is on its way; or arcs are shed and held by name, so they stay until that is over
        if self._keep_views(version):
            return
        decision = self._optimizer.next_network(self.plan.network)
        if decision is None:
            return
        try:
            self._optimizer.note(decision, self.replace(decision.network), reports[0]["step"])
        except (ArterialError, OSError) as refusal:
            self._optimizer.note_refusal(decision, str(refusal))

    def _keep_views(self, version: int) -> bool:
        """Let go of views of `some` that there is no headroom for, or keep one again; whether there was one."""
        network = self.plan.network
        wanted = self._views.next_network(version, self.statistics.window, network)
        if wanted is None:
            return False
        try:
            self.replace(wanted, history=histories(network, wanted))
        except (ArterialError, OSError) as refusal:
            self._views.note_refusal(network, str(refusal))
            return False
        return True

    def _begin_tables_again(self, network: NetworkValue, history: Mapping[str, str]) -> None:
        """Of what passed while a version did not keep them, connection points that come back have nothing: their tables
        begin again, with the history that the next step gives them, or empty."""
        kept = {box.name for box in self.plan.network.boxes if box.keeping is not None}
        for box in network.boxes:
            if box.keeping is not None and box.name not in kept:
                begin_again(self.checkpoint / POINTS / box.name, whole=bool(history))

    @property
    def version(self) -> int:
        """The version of the network that new steps run with."""
        return self._version.number

    @abstractmethod
    def _first_step_of(self, version: int) -> int:
        """The first step that runs with the last version; 0 if it is not planned soon."""

    @property
    def outputs(self) -> dict[str, pl.DataFrame]:
        """What has arrived so far at the outputs that are kept in memory."""
        return {name: sink.read() for name, sink in self.sinks.items() if isinstance(sink, MemorySink)}

    def __getitem__(self, output: str) -> pl.DataFrame:
        """What has arrived so far at an output, from memory or from its files."""
        if output not in self.sinks:
            names = ", ".join(self.sinks) or "none"
            raise RunError(
                f"network {self.plan.network.name!r} has no output {output!r} with a sink; those with one: {names}"
                + near(output, self.sinks)
            )
        read = getattr(self.sinks[output], "read", None)
        if read is None:
            raise RunError(
                f"output {output!r}: what a {type(self.sinks[output]).__name__} was given cannot be read back; read it "
                "where it was written"
            )
        frame: pl.DataFrame = read()
        return frame

    def _note_end(self) -> None:
        """Write down how it came to its end."""
        state = FAILED if self._error else FINISHED if self.ended else STOPPED
        self._figures.watchers.notices(self.notices)
        try:
            self._figures.become(state, str(self._error) if self._error else None)
            self._figures.close()
        except OSError as trouble:  # a full disk, say; what ended the run comes first
            self._error = self._error or RunError(f"cannot write to {self.checkpoint}: {trouble.strerror}")

    def _repr_html_(self) -> str:
        """What a notebook shows: the state, tuples and rates, and the picture of the plan."""
        return html(self.plan, self.statistics.describe(), self.state)
