"""The base of sinks that write on the driver when a step is committed: to a database, a server, standard output."""

from __future__ import annotations

import json
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.sinks.owner import run_number
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.storage.damage import read_json
from arterial.storage.place import make_folder, put_in_place

JOURNAL = "journal.json"


class DriverSink(Sink):
    """Gathers the slots of a step on the driver; at the commit, `put` gets them as one frame in the order of time.

    A subclass that cannot put in the step's number together with the tuples calls `note` when they are out: the step is
    then not put again unless the driver was killed in between. So it is at least once.
    """

    to_driver: ClassVar[bool] = True

    def __init__(self) -> None:
        self._gathered: dict[tuple[int, int], pl.DataFrame] = {}
        self._journal = Path()
        self.output, self.time, self.schema = "", "", Schema(())
        self.run, self.step = "", -1

    def bind(self, output: str, stream: Stream, folder: Path) -> Sink:
        """Read in the checkpoint which run this is and how far it came."""
        self.output, self.time, self.schema = output, stream.time, stream.schema
        self.run = run_number(folder)
        self._journal = folder / "sinks" / output / JOURNAL
        if self._journal.exists():
            self.step = read_json(self._journal)["step"]
        return self

    def write(self, delivery: Delivery) -> None:
        """Keep what arrived until the commit. Runs on the driver."""
        if len(delivery.train):
            self._gathered[delivery.step, delivery.slot] = delivery.train.tuples

    def commit(self, step: int) -> None:
        """Put what the slots gathered, unless this step was put before."""
        slots = [self._gathered[at] for at in sorted(self._gathered) if at[0] == step]
        if slots and step > self.step:
            self.put(step, pl.concat(slots).sort(self.time, maintain_order=True))
        self._gathered = {at: tuples for at, tuples in self._gathered.items() if at[0] > step}

    @abstractmethod
    def put(self, step: int, tuples: pl.DataFrame) -> None:
        """Write the tuples of a step, at least one. Runs on the driver."""

    def note(self, step: int) -> None:
        """Keep in the checkpoint that this step and all before it are out."""
        make_folder(self._journal.parent)
        put_in_place(self._journal, json.dumps({"step": step}))
        self.step = step

    def __getstate__(self) -> dict[str, Any]:
        return {}  # tasks only need to know that tuples go to the driver; addresses and secrets stay there
