"""What a sink is to the engine: a thing that writes, in tasks, what each step delivers to an output, slot by slot.

When all slots are done with a step the driver commits it: a sink that puts the slots' work together does so then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from arterial.network.box import Stream
from arterial.network.train import Train


@dataclass(frozen=True)
class Delivery:
    """What arrived at an output in one slot in one step."""

    output: str
    step: int
    slot: int
    train: Train
    born: float = 0.0
    """When the step was planned, in seconds since 1970: its tuples had been delivered by then."""


class Sink(ABC):
    """The base of all sinks. It is sent to tasks, so what it holds must be picklable."""

    to_driver: ClassVar[bool] = False
    """Whether the tuples go to the driver, and `write` is called there."""

    to_frame: ClassVar[bool] = False
    """Whether the tuples go on through Spark, as a DataFrame."""

    def bind(self, output: str, stream: Stream, folder: Path) -> Sink:
        """This sink, checked and made ready for an output; `folder` may keep files. Runs on the driver, at the start.

        The checkpoint is locked by then, and no task runs.
        """
        return self

    @abstractmethod
    def write(self, delivery: Delivery) -> str | None:
        """Write what arrived. Runs in a task, maybe twice for a step; the second time must change nothing.

        A sink that puts files together on the driver returns the name of the file as a receipt (see `receive`).
        """

    def receive(self, step: int, receipt: str) -> None:  # noqa: B027  (most sinks give no receipts)
        """A task of this step wrote a file of this name. Runs on the driver, before `commit`.

        A folder on another machine may list a new file late; by its name it is found at once.
        """

    def commit(self, step: int) -> None:  # noqa: B027  (most sinks are done when their tasks are)
        """All slots have written this step, and Spark has not committed it yet. Runs on the driver.

        It runs for every step, also if nothing was delivered; maybe twice, and the second time must change nothing.
        """

    def finish(self) -> None:  # noqa: B027  (most sinks have nothing to do then)
        """The run has come to its end. Runs on the driver."""

    def start_over(self) -> None:  # noqa: B027  (what is not a file of ours stays)
        """Remove what an earlier run wrote, because the user said `--force`. Runs before `bind`, on the driver."""
