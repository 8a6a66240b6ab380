"""What the studio shows: a run, by its folder, or a network that does not run."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from arterial.connectors.points.contents import POINTS
from arterial.connectors.points.source import point_names
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.description import NetworkFacts, describe_plan, read_description, read_network
from arterial.engine.run.checkpoint.folder import FOLDER, find_checkpoint
from arterial.engine.run.figures.status import Status, read_status
from arterial.engine.run.versions.views import view_names
from arterial.errors import RunError, near
from arterial.figures.step import StepFigures, as_json
from arterial.figures.steps_file import StepsReader
from arterial.network.network import NetworkValue

LOOK_SECONDS = 0.25
"""The files of a run are looked at as often at most, however many pages are open."""
MOST_STEPS = 20_000


@dataclass(frozen=True)
class Look:
    """What was seen of a run at one moment."""

    status: Status
    steps: int
    """How many steps were ever seen; those of `Run.steps_since`."""

    @cached_property
    def as_json(self) -> str:
        """The status as JSON, made once for all pages."""
        return json.dumps(asdict(self.status), separators=(",", ":"))


@dataclass(frozen=True)
class SeenStep:
    """A step of the run."""

    figures: StepFigures

    @cached_property
    def as_json(self) -> str:
        """It as JSON, made once for all pages."""
        return json.dumps(as_json(self.figures), separators=(",", ":"))


class Run:
    """A run of any process, found by its folder."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = find_checkpoint(folder)
        self.name = folder.resolve().name
        self._reader = StepsReader(self.checkpoint)
        self._steps: deque[SeenStep] = deque(maxlen=MOST_STEPS)
        self._seen, self._looked = 0, 0.0
        self._look: Look | None = None
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """The run's own folder in its checkpoint."""
        return self.checkpoint / FOLDER

    @property
    def network(self) -> NetworkFacts:
        """The network of the version that runs."""
        return read_description(self.folder)

    @property
    def value(self) -> NetworkValue:
        """The same as a value that can be run on a sample; raises where it has code of the user's."""
        return read_network(self.folder)

    def look(self) -> Look:
        """What is the case now, or was a moment ago."""
        with self._lock:
            if self._look is None or time.monotonic() - self._looked >= LOOK_SECONDS:
                self._take_in(self._reader.more())
                self._look = Look(self.status(), self._seen)
                self._looked = time.monotonic()
            return self._look

    def status(self) -> Status:
        """What `status.json` says at this moment."""
        status = read_status(self.checkpoint)
        if status is None:
            raise RunError(f"{self.name}: the run is gone; its folder was removed")
        return status

    def steps_since(self, seen: int) -> tuple[list[SeenStep], int]:
        """The steps that came after so many were seen, as far as they are kept; and how many were seen now."""
        with self._lock:
            wanted = min(max(0, self._seen - seen), len(self._steps))
            return [self._steps[place] for place in range(len(self._steps) - wanted, len(self._steps))], self._seen

    def places(self) -> list[str]:
        """What can be asked: connection points and views."""
        return sorted({*point_names(self.checkpoint / POINTS), *view_names(self.checkpoint)})

    def place(self, name: str) -> str:
        """The name of a connection point or view that there is; a name from a request is never a path."""
        known = self.places()
        if name not in known:
            have = f"there are: {', '.join(known)}{near(name, known)}" if known else "the run keeps none"
            raise RunError(f"there is no connection point or view {name!r}; {have}")
        return name

    def _take_in(self, steps: Iterable[StepFigures]) -> None:
        for step in steps:
            if self._steps and step.step <= self._steps[-1].figures.step:
                self._steps.clear()  # it began from the start
            self._steps.append(SeenStep(step))
            self._seen += 1


@dataclass(frozen=True)
class Drawn:
    """A network that does not run."""

    value: NetworkValue
    shards: int = 2

    @property
    def name(self) -> str:
        """Its name."""
        return self.value.name

    @property
    def network(self) -> NetworkFacts:
        """Its facts, as it would be compiled."""
        if not self.value.boxes:
            return NetworkFacts(self.value.name, self.shards, [], [], {}, [])
        return describe_plan(compile_network(self.value, self.shards))


Subject = Run | Drawn
