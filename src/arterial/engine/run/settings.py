"""How a network is run: the numbers and policies that a run is started with."""

from __future__ import annotations

from dataclasses import dataclass

from arterial.engine.host.failures import FAIL
from arterial.engine.run.watch.watchers import NOTHING, Watch
from arterial.engine.steering.decisions import Controller
from arterial.errors import RunError, near

TRAIN_SIZE = 500_000

SCHEDULES = ("off", "trains", "state", "feedback")
"""What a scheduler decides: nothing; how long trains are; also who waits, by what is lost or by who does badly."""


@dataclass(frozen=True)
class Settings:
    """How a network is run."""

    shards: int = 0
    """How many shards; 0 means as many as Spark has cores, or as the checkpoint has. Another number than that regroups
    its state (docs/cluster.md)."""
    train_size: int = TRAIN_SIZE
    """About so many tuples of all sources together make a train, if so many wait."""
    policy: str = FAIL
    """What happens when a box fails on a tuple: `fail`, or `set aside`."""
    interval: float = 0.0
    """Seconds from the beginning of one step to that of the next, at least."""
    durable: bool = False
    """Whether what was written survives a power cut: every file is synced to the disk, Spark's too (docs/faults.md)."""
    optimise: bool = False
    """Whether the run changes its network while it runs, where that makes it cheaper (docs/runtime/optimizer.md)."""
    successor: bool = False
    """Whether another network than the one that stopped in the checkpoint may go on there, as by `Run.replace`."""
    only_available: bool = False
    """With sources that are Spark's own: end when what was there at the start is read."""
    schedule: str = "off"
    """One of `SCHEDULES`; `train_size` is then the longest train."""
    shed: bool = False
    """Whether tuples are left out when there is more work than time."""
    overflow: bool = False
    """Whether every answer still comes, later: what is shed is kept, and settled when the load has fallen; where that
    cannot be (before windows and joins), branches are held, and their queues are worked off within the headroom."""
    headroom: float = 0.8
    """H: the share of the machine that may be used in steady state (Aurora §4.1)."""
    watch: Watch = NOTHING
    """What the run opens for its operator: metrics, a log, lineage events."""
    controllers: tuple[Controller, ...] = ()
    """Who decides, after each step and by its figures, how the next one runs: one after the other."""

    def __post_init__(self) -> None:
        if not 0 < self.headroom <= 1:
            raise RunError(f"headroom {self.headroom}: expected a share of the machine, above 0 and up to 1")
        if self.overflow and not self.shed:
            raise RunError("overflow is about what is shed; ask for that too (--shed, or Settings(shed=True))")
        if self.schedule not in SCHEDULES:
            known = ", ".join(SCHEDULES)
            raise RunError(f"schedule {self.schedule!r}: expected one of {known}{near(self.schedule, SCHEDULES)}")
