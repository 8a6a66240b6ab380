"""The life of a run, wherever it runs: it is active, it can be steered, it ends or fails, its outputs can be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from threading import Event

import polars as pl

from arterial.connectors.sink import Sink
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.plan.plan import Plan
from arterial.engine.run.show import html
from arterial.engine.run.states import FAILED, FINISHED, PAUSED, RUNNING, STOPPED
from arterial.engine.run.statistics import Statistics
from arterial.engine.run.status import Status, StatusFile
from arterial.errors import ArterialError, RunError, near
from arterial.network.network import NetworkValue


class Run(ABC):
    """A running network. `run["alerts"]` reads what has arrived at an output so far."""

    plan: Plan
    statistics: Statistics
    checkpoint: Path
    _status: StatusFile
    notices: tuple[str, ...]
    """What the user should know about the sources, such as lines that were set aside; at the end it may be more."""

    def __init__(self) -> None:
        self._over = Event()
        self._error: ArterialError | None = None

    @property
    @abstractmethod
    def sinks(self) -> Mapping[str, Sink]:
        """The sinks of the outputs and connection points, by name."""

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
        """What `run.json` in its checkpoint says: the state, and the tuples of all processes that worked on the run."""
        return self._status.status

    @property
    @abstractmethod
    def paused(self) -> bool:
        """Whether it waits between two trains for a command."""

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

    @abstractmethod
    def replace(self, network: NetworkValue, sinks: Mapping[str, Sink] | None = None) -> int:
        """Let another version of the network run from the next train on; its number."""

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
        try:
            self._status.become(state, str(self._error) if self._error else None)
        except OSError as trouble:  # a full disk, say; what ended the run comes first
            self._error = self._error or RunError(f"cannot write to {self.checkpoint}: {trouble.strerror}")

    def _repr_html_(self) -> str:
        """What a notebook shows: the state, tuples and rates, and the picture of the plan."""
        return html(self.plan, self.statistics.describe(), self.state)
