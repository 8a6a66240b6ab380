"""What a sink is to the engine: a thing that writes, in a task, what one step delivered to one output in one slot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
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

    def bind(self, output: str, stream: Stream) -> Sink:
        """This sink, checked and made ready for an output. Runs once, on the driver, at the start."""
        return self

    @abstractmethod
    def write(self, delivery: Delivery) -> None:
        """Write what arrived. Runs in a task, maybe twice for a step; the second time must change nothing."""

    def finish(self) -> None:  # noqa: B027  (most sinks have nothing to do then)
        """The run has come to its end. Runs on the driver."""
