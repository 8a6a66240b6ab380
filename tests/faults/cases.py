"""The networks that the simulated host runs: all kinds of files that a run writes.

Each is drawn once, for some hundred runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

import arterial as art
from arterial.connectors.files.intake import END_MARKER, NAME
from arterial.connectors.files.source import FileSource
from arterial.connectors.live.source import LiveSource
from arterial.connectors.live.spool import Spool
from arterial.connectors.live.spooler import Spooler
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.files.growing import GrowingSink
from arterial.connectors.sinks.files.parts import FileSink
from arterial.connectors.source import Ask, Progress, Source
from arterial.errors import RunError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.network import NetworkValue
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import END, Train
from arterial.storage.disk import disk
from arterial.storage.place import make_folder
from tests.engine.tiny import Add
from tests.faults.host import Case

SCHEMA = {"time": int, "key": "int32", "value": int}
STEPS, PER_STEP = 3, 14


@dataclass(frozen=True)
class Ledger(Box):
    """Sums by key, in two chunks whose order depends on the attempt: keys in one, sums in the other.

    No attempt's chunk fits another attempt's. Such was the state of moving queries once, and it is allowed.
    """

    kind = "faults.ledger"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        train = trains[IN]
        keys, sums = state.get("keys"), state.get("sums")
        known = dict(zip(keys["n"].tolist(), sums["n"].tolist(), strict=True)) if keys and sums else {}
        out = []
        for time, key, value in train.tuples.select("time", "key", "value").iter_rows():
            known[key] = known.get(key, 0) + value
            out.append((time, key, known[key]))
        order = np.random.default_rng().permutation(len(known))
        state.put("keys", "", {"n": np.array(list(known), dtype=np.int64)[order]})
        state.put("sums", "", {"n": np.array(list(known.values()), dtype=np.int64)[order]})
        return {OUT: Train(pl.DataFrame(out, train.tuples.schema, orient="row"), train.through)}


@cache
def tuples() -> pl.DataFrame:
    """The stream."""
    order = pl.int_range(STEPS * PER_STEP, eager=True)
    values = (order * 31 + order // 7) % 23
    return pl.DataFrame({"time": order // 3, "key": ((order * 7) % 5).cast(pl.Int32), "value": values})


@cache
def _whole_instants() -> list[Train]:
    """Trains that end between two instants."""
    every = tuples()
    bounds = [-1, *(int(every["time"][at * PER_STEP]) - 1 for at in range(1, STEPS)), END]
    return [Train(every.filter(pl.col("time").is_between(low + 1, high)), high) for low, high in pairwise(bounds)]


@cache
def _network() -> NetworkValue:
    """Two levels, rejects, a connection point, an output of each kind."""
    net = art.Network("faults")
    rows = net.source("rows", SCHEMA)
    rows.output("read")
    kept = rows.box(Add("add", poison=7)).connection_point("recent", 1000)
    by_key = kept.group_by("key")
    sums = by_key.tumble("sums", every=4, total="sum(value)", n="count(*)")
    sums.output("sums_out")
    sums.group_by("n").latch("per_n", every=6, groups="count(*)").output("per_n_out")
    return net.value


def _sinks(folder: Path) -> dict[str, Sink]:
    return {
        "read": FileSink(folder / "read", "csv", compact=True),
        "sums_out": GrowingSink.at(folder / "sums.csv"),
        "per_n_out": FileSink(folder / "per_n", "jsonl", merge=True),
    }


WHOLE = Case(_network, lambda folder: {"rows": MemorySource(_whole_instants())}, _sinks)


@cache
def _ledger_network() -> NetworkValue:
    net = art.Network("ledger")
    net.source("rows", SCHEMA).group_by("key").box(Ledger("ledger")).output("out")
    return net.value


LEDGER = Case(
    _ledger_network,
    lambda folder: {"rows": MemorySource(_whole_instants())},
    lambda folder: {"out": FileSink(folder / "out", "csv")},
    same_states=False,
)


@dataclass(frozen=True)
class Sum(Box):
    """Running sums by key, in one chunk."""

    kind = "faults.sum"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        train = trains[IN]
        known = state.get("sums")
        sums = np.zeros(8, dtype=np.int64) if known is None else known["n"].copy()
        out = []
        for time, key, value in train.tuples.select("time", "key", "value").iter_rows():
            sums[key] += value
            out.append((time, key, int(sums[key])))
        state.put("sums", "", {"n": sums})
        return {OUT: Train(pl.DataFrame(out, train.tuples.schema, orient="row"), train.through)}


@cache
def _small_network() -> NetworkValue:
    net = art.Network("small")
    net.source("rows", SCHEMA).group_by("key").box(Sum("sum")).output("out")
    return net.value


SMALL = Case(
    _small_network,
    lambda folder: {"rows": MemorySource(_whole_instants())},
    lambda folder: {"out": GrowingSink.at(folder / "out.csv")},
    shards=1,
)
"""As little as there can be, for pairs of crashes."""


@cache
def _replaced_network() -> NetworkValue:
    """An output that goes with the next version, a box with state that stays and one that goes."""
    net = art.Network("replaced")
    rows = net.source("rows", SCHEMA)
    rows.filter("low", "value < 12").output("gone")
    by_key = rows.box(Add("add", poison=7)).connection_point("recent", 1000).group_by("key")
    by_key.tumble("sums", every=4, total="sum(value)", n="count(*)").output("sums_out")
    by_key.box(Sum("running")).output("running_out")
    return net.value


def _replacement(folder: Path) -> tuple[NetworkValue, Mapping[str, Sink]]:
    """The same sums, drawn in another way; the running sums begin once more under their name, elsewhere."""
    net = art.Network("replaced")
    rows = net.source("rows", SCHEMA)
    kept = rows.filter("all", "value >= 0").box(Add("add", poison=7)).connection_point("recent", 1000)
    by_key = kept.group_by("key")
    by_key.tumble("sums", every=4, total="sum(value)", n="count(*)").output("sums_out")
    by_key.latch("running", every=6, n="count(*)").output("latched_out")
    return net.value, {"latched_out": FileSink(folder / "latched", "csv")}


REPLACED = Case(
    _replaced_network,
    lambda folder: {"rows": MemorySource(_whole_instants())},
    lambda folder: {
        "gone": FileSink(folder / "gone", "csv"),
        "sums_out": GrowingSink.at(folder / "sums.csv"),
        "running_out": FileSink(folder / "gone-too", "csv"),
    },
    replacement=_replacement,
)
"""Another version of the network takes over on the way; the command stays the one that declares the first."""


class SentLines(LiveSource):
    """Live input from a sender that sends all again after a crash; some lines come before each step is planned."""

    def start(self) -> None:
        spool = Spool(self._spool)
        self.__dict__["spooler"] = None
        if not spool.ended:
            assert self.schema is not None
            rejects = Path(self.folder) / "rejects.jsonl"
            spooler = Spooler(spool, rejects, self._form(), self.time, self._rules(), place="lines", now=lambda: 0.0)
            self.__dict__["spooler"], self.__dict__["sent"] = spooler, 0
            self.__dict__["pace"] = 11 if spool.files else 15  # who sends again comes at other moments
            self.__dict__["connection"] = spooler.connect("sender")

    def plan(self, before: Progress, ask: Ask) -> Progress:
        spooler = self.__dict__["spooler"]
        lines = ["time,key,value", *(",".join(map(str, row)) for row in tuples().iter_rows()), "nonsense", "#end"]
        while spooler is not None and not spooler.done:
            sent = self.__dict__["sent"]
            if sent > len(lines):
                raise RunError("the sender has sent all that it had, and the end was not found")
            self.__dict__["sent"] = sent + self.__dict__["pace"]
            some = lines[sent : self.__dict__["sent"]]
            spooler.feed(self.__dict__["connection"], "".join(f"{line}\n" for line in some).encode())
            if spooler.open or not spooler.done:
                spooler.flush()
            spooler.tick()
            spooler.spool.trim()
            if (after := super().plan(before, ask)) != before:
                return after
        return super().plan(before, ask)

    def close(self, *, ended: bool) -> None:
        Spool(self._spool).clear()


@cache
def _live_network() -> NetworkValue:
    net = art.Network("live")
    rows = net.source("rows", SCHEMA)
    rows.output("read")
    rows.group_by("key").tumble("sums", every=4, total="sum(value)", n="count(*)").output("sums_out")
    return net.value


def _live_sources(folder: Path) -> dict[str, Source]:
    return {"rows": SentLines("-", resend=True, format="csv")}


LIVE = Case(
    _live_network,
    _live_sources,
    lambda folder: {"read": FileSink(folder / "read", "csv"), "sums_out": GrowingSink.at(folder / "sums.jsonl")},
    same_steps=False,
)


class GrowingFiles(FileSource):
    """A folder to which files are added that grow: some bytes before each step; after a crash all may be there."""

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> FileSource:
        self._grow(again=(folder / "sources" / name / NAME).exists())
        return super().bind(name, schema, time, folder)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        while (after := super().plan(before, ask)) == before and self._grow(again=False):
            pass
        return after

    def _grow(self, *, again: bool) -> bool:
        """Whether there was more to write."""
        folder = Path(self.path)
        if (folder / END_MARKER).exists():
            return False
        if not folder.exists():
            make_folder(folder)
            disk().sync(folder.parent)
        texts = {folder / name: text for name, text in _texts().items()}
        there = {path: path.stat().st_size if path.exists() else 0 for path in texts}
        some = 10_000 if again and sum(there.values()) % 2 else 97
        for path, text in texts.items():
            if some > 0 and there[path] < len(text):
                _write(path, text[there[path] : there[path] + some])
                some -= len(text) - there[path]
        if all(path.exists() and path.stat().st_size == len(text) for path, text in texts.items()):
            _write(folder / END_MARKER, b"")
        return True


def _write(path: Path, some: bytes) -> None:
    """As a writer whose files survive a power cut."""
    disk().append(path, BytesIO(some))
    disk().sync(path)
    disk().sync(path.parent)


@cache
def _texts() -> dict[str, bytes]:
    """What the files hold in the end: five instants each, and a line that does not fit."""
    texts = {}
    for (number,), rows in tuples().group_by(pl.col("time") // 5, maintain_order=True):
        lines = ["time,key,value", *(",".join(map(str, row)) for row in rows.iter_rows()), "nonsense"]
        texts[f"{number}.csv"] = "".join(f"{line}\n" for line in lines).encode()
    return texts


@cache
def _followed_network() -> NetworkValue:
    net = art.Network("followed")
    rows = net.source("rows", SCHEMA)
    rows.output("read")
    rows.group_by("key").tumble("sums", every=4, total="sum(value)", n="count(*)").output("sums_out")
    return net.value


FOLLOWED = Case(
    _followed_network,
    lambda folder: {"rows": GrowingFiles(folder / "in", follow=True, idle=0.0)},
    lambda folder: {"read": FileSink(folder / "read", "csv"), "sums_out": GrowingSink.at(folder / "sums.jsonl")},
    same_steps=False,
)
