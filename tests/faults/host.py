"""A simulated Spark: runs a network with the code of the real host, over logs and state files of its own.

As Spark does with state checkpoint format 2: the offset of a step is logged before it runs, every attempt at a task
leaves a state file of its own, and the commit of the step names the attempts that count.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import current_thread
from typing import Any

import polars as pl
import pytest

from arterial.connectors.files import intake
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.files import compaction
from arterial.connectors.source import Source
from arterial.engine.host.failures import SET_ASIDE
from arterial.engine.run.checkpoint.folder import make_folder
from arterial.engine.run.checkpoint.lock import lock_checkpoint
from arterial.engine.run.driver import commit_step, make_ready, take_reports, take_up, work_of
from arterial.engine.run.figures.run_figures import RunFigures
from arterial.engine.run.settings import Settings
from arterial.engine.run.states import FINISHED
from arterial.engine.run.versions.versions import next_version
from arterial.engine.spark.logs.spark_files import SparkFiles
from arterial.engine.spark.packed_work import PackedWork
from arterial.engine.spark.task import Row, Step, run_head, run_slot
from arterial.engine.spark.work import Work
from arterial.engine.state import slot_state
from arterial.engine.state.chunks import pack_chunk
from arterial.engine.state.slot_state import SlotState
from arterial.engine.steering import control
from arterial.engine.steering.offsets import ENDED, STOPPED, first_offset, next_offset, spans_of
from arterial.errors import RunError
from arterial.figures.steering import Steering
from arterial.network.network import NetworkValue
from arterial.storage.disk import disk, durably
from arterial.storage.epoch import check_epoch
from arterial.storage.place import make_folder as make_path
from arterial.storage.place import put_in_place, remove
from tests.faults.recording import Late, Recording

ONE, FIRST, LAST, LATE = "one attempt", "the first attempt", "the last attempt", "a late attempt"
"""Which attempts there are at a task, and which of them counts; of a late one nothing does."""


@dataclass(frozen=True)
class Case:
    """A network with what stands behind it in a folder."""

    network: Callable[[], NetworkValue]
    sources: Callable[[Path], Mapping[str, Source]]
    sinks: Callable[[Path], Mapping[str, Sink]]
    same_steps: bool = True
    """Whether a step that is planned again is planned as before; live input may be cut otherwise."""
    same_states: bool = True
    """Whether two attempts at a step leave the same state."""
    shards: int = 2
    replacement: Callable[[Path], tuple[NetworkValue, Mapping[str, Sink]]] | None = None
    """Another version of the network, with the sinks of its new outputs; it takes over before `REPLACED_AT`."""


REPLACED_AT = 1
"""The number of the step before which a network is replaced, counted from 0 as Spark does."""


@dataclass
class Result:
    """What a run left: all that a user, or a later step, could see."""

    outputs: dict[str, pl.DataFrame] = field(default_factory=dict)
    rejects: list[str] = field(default_factory=list)
    counts: tuple[Any, ...] = ()
    states: dict[int, str] = field(default_factory=dict)
    """A digest of the state after each step."""

    def difference(self, calm: Result, case: Case) -> str:
        """What is not as in the calm run; empty if all is."""
        for name, expected in calm.outputs.items():
            got = self.outputs[name]
            if not case.same_steps:
                got, expected = got.sort(got.columns), expected.sort(expected.columns)
            if not got.equals(expected):
                return f"output {name}: {got.height} tuples, {expected.height} in the calm run"
        if self.counts != calm.counts:
            return f"counts: {self.counts}, {calm.counts} in the calm run"
        if sorted(self.rejects) != sorted(calm.rejects):
            return f"rejects: {len(self.rejects)}, {len(calm.rejects)} in the calm run"
        compared = case.same_steps and case.same_states
        wrong = [step for step, state in self.states.items() if compared and calm.states[step] != state]
        return f"state after step {wrong[0]}" if wrong else ""


class _Caches:
    """What workers remember; a late attempt runs in a worker of its own."""

    def __init__(self) -> None:
        self._caches: dict[object, dict[object, Any]] = {}

    def _mine(self) -> dict[object, Any]:
        thread = current_thread()
        return self._caches.setdefault(thread if isinstance(thread, Late) else None, {})

    def __contains__(self, identity: object) -> bool:
        return identity in self._mine()

    def setdefault(self, identity: object, kept: Any) -> Any:
        return self._mine().setdefault(identity, kept)

    def clear(self) -> None:
        self._mine().clear()


class _Loaded(PackedWork):
    """The work of a run, which need not be unpickled here."""

    def load(self, version: int | None = None) -> Work:
        works = _works[self.run]
        return works[max(works) if version is None else version]


_works: dict[str, dict[int, Work]] = {}
_NOTHING = b"nothing"
"""What is in the state file of a slot that has no state."""


class _Store:
    """The value of a slot as one attempt at a task sees it."""

    def __init__(self, value: bytes | None) -> None:
        self.value = value

    def get(self) -> tuple[Any, ...] | None:
        return None if self.value is None else (self.value,)

    def update(self, newValue: tuple[Any, ...]) -> None:  # noqa: N803
        self.value = newValue[0]


class Host:
    """One start of a run; `run` goes to the end, or through a step."""

    def __init__(self, case: Case, folder: Path, *, attempts: str = ONE, durable: bool = False, seed: int = 0) -> None:
        self.case, self.folder, self.attempts, self.durable = case, folder, attempts, durable
        self.chance = random.Random(seed)
        self.checkpoint = folder / "checkpoint"
        self.spark = self.checkpoint / "spark"
        self.result = Result()
        self.notice = ""

    @contextmanager
    def started(self) -> Iterator[Host]:
        """Do what the driver does at the start, and at the end if the run has come to it."""
        settings = Settings(shards=self.case.shards, train_size=20, policy=SET_ASIDE, durable=self.durable)
        slot_state.forget_cache()
        with durably(self.durable):
            self.own = make_folder(self.checkpoint)
            lock = lock_checkpoint(self.own)
            try:
                self.notice = take_up(lock, self.own, None, durable=self.durable)
                network, sinks = self.case.network(), self.case.sinks(self.folder)
                ready = make_ready(network, self.case.sources(self.folder), sinks, self.own, settings, 2, self._indexes)
                self.work, self.bound, self.ready = ready.works[-1], ready.sinks, ready
                self.works = {work.version: work for work in ready.works}
                self.figures = RunFigures(self.work.plan, self.own, temporary=False)
                for marker in (ENDED, STOPPED):
                    remove(self.own / marker)
                control.switch(self.own, self.work.version)
                _works[self.work.run] = self.works
                self.packed = _Loaded(self.work.run, self.case.shards, 1, str(self.own / "works"))
                for source in self.work.sources.values():
                    source.start()
                self._open_logs()
                yield self
            finally:
                for late in list(getattr(disk(), "late", ())):
                    late.go_on(never=True)
                if hasattr(self, "figures"):
                    self.figures.close()
                lock.close()

    def run(self) -> Result:
        """Go to the end."""
        with self.started():
            while self.step():
                pass
            for sink in self.bound:
                sink.finish()
            for source in self.work.sources.values():
                source.close(ended=True)
            self.figures.become(FINISHED)
            self._look()
        return self.result

    def step(self) -> bool:
        """Run the next step, or the one that was planned before a crash; whether there was one."""
        number = self.done + 1
        start = self._offset(self.done) if self.done >= 0 else first_offset(self.work.sources, self.own)
        if self.planned == self.done:
            if self.case.replacement and self.work.version == 1 and number == REPLACED_AT:
                self._replace(*self.case.replacement(self.folder))
            check_epoch(self.own, self.work.run)
            end = next_offset(self.work.sources, start, self.own, 20, control.read_control(self.own).stop)
            if end == start:
                assert (self.own / ENDED).exists()
                return False
            path = self.spark / "offsets" / str(number)
            assert not path.exists(), "CONCURRENT_STREAM_LOG_UPDATE"
            put_plainly(path, f"v1\n{{}}\n{json.dumps(end)}")
            self.planned = number
        else:
            end = self._offset(number)
        work = self.works[end["steering"]["version"]]
        if self.durable:
            self.files.sync_logs()
        check_epoch(self.own, self.work.run)
        ids: dict[str, str] = {}
        rows: list[Row] = []
        for slot in range(self.case.shards):
            rows += self._attempts(lambda slot=slot: self._head(work, slot, start, end))[1]
        for level in range(len(work.plan.levels)):
            arrived, rows = rows, []
            for key in sorted({to for to, _ in arrived}):
                mine = [packed for to, packed in arrived if to == key]
                name, sent = self._attempts(lambda mine=mine, key=key, level=level: self._level(level, key, mine))
                rows += sent
                ids[f"{level}/{key}"] = name
        reports, driven = take_reports([packed for _, packed in rows], self.works)
        if self.durable:
            self.files.sync_state()
        check_epoch(self.own, self.work.run)
        commit_step(list(self.bound), self.work.plan, reports, driven, self.figures)
        put_plainly(self.spark / "commits" / str(number), f"v1\n{json.dumps(ids)}")
        self.ids, self.done = ids, number
        self.result.states[end["step"]] = self._state()
        return True

    def _attempts(self, task: Callable[[], tuple[str, list[Row]]]) -> tuple[str, list[Row]]:
        """Run a task as often as wanted; what counts of it."""
        if self.attempts == LATE:
            recording = disk()
            assert isinstance(recording, Recording)
            if not recording.late:
                late = Late(task, self.chance.randint(0, 6), recording, self.chance.randint(1, 40))
                late.begin()
            return task()
        first = task()
        if self.attempts == ONE:
            return first
        slot_state.forget_cache()
        second = task()
        return first if self.attempts == FIRST else second

    def _replace(self, network: NetworkValue, sinks: Mapping[str, Sink]) -> None:
        """What `SparkRun.replace` writes, in its order."""
        files, bound = self.ready.files, self.bound
        version = next_version(self.ready.version, network, sinks)
        unbound = {(name, version.number): sink for name, sink in sinks.items()}
        work = work_of(self.work, version, bound.of(version, unbound), [])
        control.begin_with(self.own, version.number, {})
        files.add(version, sinks)
        self.figures.follow(work.plan)
        self.works[version.number] = self.work = work
        control.switch(self.own, version.number)
        files.keep_only(self.works)

    def _head(self, work: Work, slot: int, start: dict[str, Any], end: dict[str, Any]) -> tuple[str, list[Row]]:
        step = Step(end["step"], slot, end["born"], Steering.from_json(end["steering"]))
        return "", run_head(work, step, spans_of(start, end), end.get("reached", {}))

    def _level(self, level: int, key: int, arrived: list[bytes]) -> tuple[str, list[Row]]:
        store = _Store(self._saved(level, key))
        rows = run_slot(self.packed, level, key, arrived, store)
        name = f"{self.done + 2}_{uuid.uuid4().hex}.changelog"
        make_path(self.spark / "state" / str(level) / str(key))
        put_plainly(self.spark / "state" / str(level) / str(key) / name, store.value or _NOTHING)
        return name, rows

    def _saved(self, level: int, key: int) -> bytes | None:
        name = self.ids.get(f"{level}/{key}")
        if name is None:
            return None
        path = self.spark / "state" / str(level) / str(key) / name
        if not path.is_file() or not (saved := path.read_bytes()):
            raise RunError(f"the checkpoint is damaged: {path}: restore it")  # as Spark finds it by its checksums
        return None if saved == _NOTHING else saved

    def _indexes(self, levels: int) -> list[tuple[int, int, bytes]]:
        """The state of all slots, as Spark's own reader gives it; its operators may be counted from the other end."""
        self._open_logs()
        keys = [name.split("/") for name in self.ids]
        saved = [(int(level), int(key), self._saved(int(level), int(key))) for level, key in keys]
        return [(levels - 1 - level, key, index) for level, key, index in saved if index is not None]

    def _open_logs(self) -> None:
        for log in ("offsets", "commits", "state"):
            make_plain_path(self.spark / log)
        if not (self.spark / "metadata").exists():
            put_plainly(self.spark / "metadata", '{"id":"simulated"}')
        numbers = {
            log: [int(path.name) for path in (self.spark / log).iterdir() if path.name.isdigit()]
            for log in ("offsets", "commits")
        }
        self.planned, self.done = (max(numbers[log], default=-1) for log in ("offsets", "commits"))
        self.ids: dict[str, str] = {}
        if self.done >= 0:
            self.ids = json.loads((self.spark / "commits" / str(self.done)).read_text().splitlines()[1])
        self.files = SparkFiles(self.spark)

    def _offset(self, number: int) -> dict[str, Any]:
        offset: dict[str, Any] = json.loads((self.spark / "offsets" / str(number)).read_text().splitlines()[2])
        return offset

    def _state(self) -> str:
        """All chunks of all slots, as the next step would read them."""
        digests = []
        for level in range(len(self.work.plan.levels)):
            for slot, key in enumerate(self.work.keys):
                store = _Store(self._saved(level, key))
                folder = self.own / "chunks" / f"{level:03d}-{slot:03d}"
                with _plainly():
                    state = SlotState("looking", store, folder)
                    for name in state.keys(""):
                        chunk = state.fetch(name)
                        assert chunk is not None
                        digests.append((level, slot, name, hash(b"".join(map(bytes, pack_chunk(chunk))))))
                slot_state._cache._mine().pop("looking", None)  # type: ignore[attr-defined]
        return str(hash(tuple(digests)))

    def _look(self) -> None:
        """What the run left."""
        self.result.outputs = {name: sink.read() for name, sink in self.work.sinks.items()}  # type: ignore[attr-defined]
        if self.case.replacement:
            # An output that only an earlier version had is known to nobody now; its parts are there.
            gone = sorted((self.folder / "gone").glob("part-*"))
            lines = [line for path in gone for line in path.read_text().splitlines()]
            self.result.outputs["gone"] = pl.DataFrame({"line": lines}, schema={"line": pl.String})
        for path in sorted((self.own / "rejects").glob("part-*.jsonl")):
            self.result.rejects += path.read_text().splitlines()
        status = self.figures.status
        self.result.counts = (status.state, dict(status.tuples_in), dict(status.tuples_out))


def put_plainly(path: Path, content: str | bytes) -> None:
    """Put a file in place as Spark does: never synced."""
    with durably_not():
        put_in_place(path, content)


def make_plain_path(path: Path) -> None:
    """Make a folder as Spark does."""
    with durably_not():
        make_path(path)


@contextmanager
def durably_not() -> Iterator[None]:
    """Write without syncing."""
    from arterial.storage import disk as module

    before, module._durable = module._durable, 0
    try:
        yield
    finally:
        module._durable = before


@contextmanager
def _plainly() -> Iterator[None]:
    """Without the disk in use: looking is no part of the run."""
    from arterial.storage.disk import Disk, using

    class NoCleaning(Disk):
        def unlink(self, path: Path) -> None:
            pass

    with using(NoCleaning()):
        yield


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated workers, chunks of a few bytes that lie in files, and parts that are soon merged."""
    monkeypatch.setattr(slot_state, "_cache", _Caches())
    monkeypatch.setattr(slot_state, "INLINE_BYTES", 40)
    monkeypatch.setattr(compaction, "MERGED_AT_ONCE", 3)
    monkeypatch.setattr(intake, "LOOK_SECONDS", 0)
