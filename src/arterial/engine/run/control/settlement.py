"""Settles what was left out with `overflow`: shed now, answer later (Aurora §4.5; decision 36).

The tuples that overflowed on an arc lie in files of the checkpoint, by version, port and step. Each file is run by
itself through the boxes behind its arc, which take every tuple by itself; what then reaches an output is put into a
file of the same name in `settled/OUTPUT`, and only then is the first one removed. So who is killed in between does it
again, with the same result, and the answers of a run and its settled ones together are those of a run without load.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import polars as pl

from arterial.connectors.sinks.files.parts import put_tuples
from arterial.engine.host.failures import write_rejects
from arterial.engine.host.inprocess import InProcess
from arterial.engine.host.outcome_files import OVERFLOW, REJECTS
from arterial.engine.plan.settlement import settling_network
from arterial.engine.run.checkpoint.folder import FOLDER
from arterial.errors import RunError
from arterial.network.network import Arc, NetworkValue
from arterial.network.train import END, Train
from arterial.storage.damage import read_parquet
from arterial.storage.fail_point import fail_point
from arterial.storage.place import OWN, make_folder, remove
from arterial.storage.remote import readable

SETTLED = "settled"
"""The folder in a checkpoint with the answers that came late, by output."""

CALM_SECONDS = 2.0
"""The load has fallen when nothing was left out for so long."""
LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Overflow:
    """A file of tuples that were left out on an arc in one step, level and slot."""

    path: Path

    @property
    def version(self) -> int:
        """The version of the network that the step ran with."""
        return int(self.path.parent.parent.name)

    @property
    def port(self) -> str:
        """The port at the end of the arc."""
        return self.path.parent.name

    @property
    def place(self) -> tuple[int, int, int]:
        """Step, level and slot."""
        step, level, slot = (int(part) for part in self.path.stem.split("-")[1:4])
        return step, level - 1, slot


def overflow_of(folder: Path) -> list[Overflow]:
    """What waits to be settled, the oldest step first; `folder` is the run's own."""
    parts = (folder / OVERFLOW).glob("*/*/part-*.parquet")
    return [Overflow(path) for path in sorted(parts, key=lambda path: (path.name, str(path)))]


def versions_with_overflow(folder: Path) -> set[int]:
    """The versions of the network that are needed to settle what waits."""
    return {part.version for part in overflow_of(folder)}


def count_overflow(checkpoint: Path) -> tuple[int, dict[str, int]]:
    """How many tuples wait to be settled, and how many late answers there are by output; for another process."""
    return sum(count_waiting(checkpoint).values()), count_late(checkpoint)


def count_waiting(checkpoint: Path) -> dict[str, int]:
    """How many tuples wait to be settled, by the port at the end of the arc on which they were left out."""
    waiting: dict[str, int] = {}
    for part in overflow_of(checkpoint / FOLDER):
        waiting[part.port] = waiting.get(part.port, 0) + _rows(part.path)
    return {port: number for port, number in waiting.items() if number}


def count_late(checkpoint: Path) -> dict[str, int]:
    """How many answers came late, by output."""
    late: dict[str, int] = {}
    for path in sorted((checkpoint / SETTLED).glob("*/part-*.parquet")):
        late[path.parent.name] = late.get(path.parent.name, 0) + _rows(path)
    return late


def _rows(path: Path) -> int:
    try:
        return int(pl.scan_parquet(readable(path)).select(pl.len()).collect().item())
    except FileNotFoundError:  # settled in the meantime
        return 0


class Settlement:
    """Settles the overflow of a run: a part now and then when the load has fallen, all of it on demand or at the end.

    `network_of` gives the network of a version. In the background it takes at most the share of time that the headroom
    leaves.
    """

    def __init__(
        self, folder: Path, network_of: Callable[[int], NetworkValue], policy: str, headroom: float = 0.8
    ) -> None:
        self._folder, self._network_of, self._policy = folder, network_of, policy
        self._spare = max(0.05, 1 - headroom)
        self._one_at_a_time, self._next = Lock(), 0.0
        self.place = folder.parent / SETTLED

    @property
    def versions(self) -> set[int]:
        """The versions of the network that are needed to settle what waits."""
        return versions_with_overflow(self._folder)

    def settle(self) -> int:
        """Settle all that waits now; how many tuples that were."""
        return self._settle(overflow_of(self._folder))

    def settle_some(self, sheds: bool) -> None:
        """Settle a part, if it is time to; called often, between steps. `sheds` says that more is left out still."""
        now = time.monotonic()
        if sheds:
            self._next = now + CALM_SECONDS
        if now < self._next:
            return
        settled = self._settle(overflow_of(self._folder)[:1])
        self._next = now + ((time.monotonic() - now) / self._spare if settled else LOOK_SECONDS)

    def read(self, output: str, network: NetworkValue) -> pl.DataFrame:
        """All late answers at an output."""
        (begin,) = network.arrivals(network.box(output)).values()
        frames = [read_parquet(path) for path in sorted((self.place / output).glob("part-*.parquet"))]
        return pl.concat([network.streams[begin].schema.empty(), *frames])

    def _settle(self, parts: Iterable[Overflow]) -> int:
        with self._one_at_a_time:
            return sum(self._settle_part(part) for part in parts)

    def _settle_part(self, part: Overflow) -> int:
        network = self._network_of(part.version)
        arc = next((arc for arc in network.arcs if str(arc.end) == part.port), None)
        if arc is None:
            raise RunError(
                f"{part.path}: version {part.version} of the network {network.name!r} has no input {part.port!r}, "
                "where these tuples were left out; move the file away to run on without them"
            )
        try:
            tuples = read_parquet(part.path)
        except FileNotFoundError:
            return 0  # settled by a command in the meantime
        step, level, slot = part.place
        for output, train in self._run(network, arc, tuples, part).items():
            if len(train):
                make_folder(self.place / output)
                name = f"part-{step:09d}-{level + 1:03d}-{slot:03d}-{part.port}.parquet"
                put_tuples(self.place / output / name, train.tuples, "parquet")
        fail_point("settle.answered")
        remove(part.path)
        return tuples.height

    def _run(self, network: NetworkValue, arc: Arc, tuples: pl.DataFrame, part: Overflow) -> dict[str, Train]:
        settling, source = settling_network(network, arc)
        sources = [box for box in settling.boxes if not box.inputs]
        host = InProcess(settling, policy=self._policy, ordered_sources=[box.name for box in sources])
        stream = network.streams[arc.begin]
        ordered = tuples.sort(stream.time, maintain_order=True, nulls_last=True)
        trains = {}
        for box in sources:
            (schema,) = {s.schema for port, s in settling.streams.items() if port.box == box.name}
            trains[box.name] = Train(ordered if box.name == source else schema.empty(), END)
        answers = host.step(trains)
        if host.rejects:
            own = self._folder / REJECTS / SETTLED
            make_folder(own, OWN)
            write_rejects(own, *part.place, host.rejects)
        return answers
