"""The state of a slot: an index in the state store, large chunks in files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from arterial import Network
from arterial.engine.host.failures import SET_ASIDE, process_guarded
from arterial.engine.state.chunk_files import DamagedStateError
from arterial.engine.state.slot_state import SlotState, forget_cache
from arterial.errors import RunError
from arterial.network.train import Train
from tests.seeds import seeds


class Store:
    """What Spark's state store is to a slot, in memory; counts the calls."""

    def __init__(self, folder: Path) -> None:
        self.value: tuple[Any, ...] | None = None
        self.calls: list[str] = []
        self.folder = folder

    def get(self) -> tuple[Any, ...] | None:
        self.calls.append("get")
        return self.value

    def update(self, newValue: tuple[Any, ...]) -> None:  # noqa: N803
        self.calls.append("put")
        self.value = newValue

    def open(self) -> SlotState:
        self.calls.clear()
        return SlotState("slot", self, self.folder)

    @property
    def files(self) -> int:
        return len(list(self.folder.iterdir())) if self.folder.exists() else 0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    forget_cache()
    yield Store(tmp_path / "chunks")
    forget_cache()


SMALL = pl.DataFrame({"n": [1, 2, 3]})
LARGE = {"n": np.arange(10_000)}


def test_state_survives_a_worker(store: Store) -> None:
    slot = store.open()
    slot.of("sum").put("table", "small", SMALL)
    slot.of("sum").put("table", "large", LARGE)
    slot.save()
    assert store.calls == ["get", "put"]
    assert store.files == 1
    for lost_worker in (False, True):
        if lost_worker:
            forget_cache()
        slot = store.open()
        state = slot.of("sum")
        assert state.keys("table") == ["large", "small"]
        assert state.keys("tab") == []
        small, large = state.get("table", "small"), state.get("table", "large")
        assert isinstance(small, pl.DataFrame)
        assert small.equals(SMALL)
        assert large is not None
        assert np.array_equal(large["n"], LARGE["n"])
        assert store.calls == ["get"]
        assert slot.reads == lost_worker
        assert store.open().of("other").get("table", "small") is None


def test_only_what_was_touched_is_written(store: Store) -> None:
    slot = store.open()
    for key in "abc":
        slot.of("sum").put("table", key, LARGE)
    slot.save()
    slot = store.open()
    slot.of("sum").get("table", "a")
    slot.of("sum").put("table", "b", LARGE)
    slot.of("sum").drop("table", "c")
    said = slot.save()
    assert slot.writes == 1
    assert 2 * said["state_written"] > said["state_bytes"] > said["state_written"] > 0
    assert said["state"] == {"sum": said["state_bytes"]}
    assert store.calls == ["get", "put"]
    slot = store.open()
    slot.of("sum").get("table", "a")
    slot.save()
    assert store.calls == ["get"]


def test_files_go_when_spark_cannot_ask_for_them_any_more(store: Store) -> None:
    for step in range(6):
        slot = store.open()
        slot.of("sum").put("table", "a", LARGE)
        slot.save()
        assert store.files == min(step + 1, 3)
    for _ in range(3):
        slot = store.open()
        slot.of("sum").put("table", "b", SMALL)
        if "a" in slot.of("sum").keys("table"):
            slot.of("sum").drop("table", "a")
        slot.save()
    assert store.files == 0


def test_a_chunk_may_grow_and_shrink(store: Store) -> None:
    for chunk in (SMALL, LARGE, SMALL, LARGE):
        slot = store.open()
        slot.of("sum").put("table", "", chunk)
        slot.save()
        forget_cache()
        got = store.open().of("sum").get("table")
        assert got is not None
        assert len(got["n"]) == len(chunk["n"])


def test_a_step_that_failed_leaves_nothing(store: Store) -> None:
    slot = store.open()
    slot.of("sum").put("table", "", SMALL)
    slot.of("sum").memo["index"] = "of three"
    slot.save()
    failing = store.open()
    assert failing.of("sum").memo == {"index": "of three"}
    failing.of("sum").put("table", "", SMALL.head(1))
    failing.of("sum").memo["index"] = "of one"
    again = store.open()
    got = again.of("sum").get("table")
    assert isinstance(got, pl.DataFrame)
    assert got.equals(SMALL)
    assert again.of("sum").memo == {}


def test_a_memo_is_kept_only_while_this_worker_has_the_slot(store: Store) -> None:
    slot = store.open()
    slot.of("sum").put("table", "", SMALL)
    slot.of("sum").memo["kept"] = True
    slot.save()
    from arterial.engine.state import slot_state as module

    kept = dict(module._cache)
    forget_cache()
    elsewhere = store.open()
    elsewhere.of("sum").put("table", "", SMALL.head(2))
    elsewhere.save()
    module._cache.clear()
    module._cache.update(kept)
    back = store.open()
    assert back.of("sum").memo == {}
    assert back.of("sum").earlier_memo == {"kept": True}
    got = back.of("sum").get("table")
    assert isinstance(got, pl.DataFrame)
    assert got.height == 2


@pytest.mark.parametrize("steps_elsewhere", [1, 32, 40])
@pytest.mark.parametrize("last", ["committed", "failed", "lost"])
def test_an_earlier_memo_is_one_that_was_committed(store: Store, steps_elsewhere: int, last: str) -> None:
    from arterial.engine.state import slot_state as module

    def step(memo: int, *, save: bool = True) -> None:
        slot = store.open()
        slot.of("sum").put("table", "", {"n": np.array([memo])})
        slot.of("sum").memo["n"] = memo
        if save:
            slot.save()

    step(1)
    committed = store.value
    if last != "committed":
        step(2, save=last == "lost")  # by this worker, and then Spark has it done again by another
        store.value = committed
    mine = dict(module._cache)
    forget_cache()
    for number in range(steps_elsewhere):
        step(10 + number)
    module._cache.update(mine)
    state = store.open().of("sum")
    assert state.memo == {}
    known = last == "committed" and steps_elsewhere <= 32
    assert state.earlier_memo == ({"n": 1} if known else {})
    again = store.open().of("sum")  # a step that failed may have changed it
    assert (again.memo, again.earlier_memo) == ({}, {})


def test_what_was_never_committed_is_removed_when_spark_cannot_ask_for_it(store: Store) -> None:
    def step() -> None:
        slot = store.open()
        slot.of("sum").put("table", "", LARGE)
        slot.save()

    step()
    committed = store.value
    step()
    store.value = committed  # the step was not committed, and is done again by another worker
    (store.folder / "000000020123456789abcdef-0123456789abcdef").touch()  # and it had begun to write a file
    (store.folder / "somebody's notes").touch()
    for saves in range(2, 6):
        forget_cache()
        step()
        assert store.files == min(saves, 3) + 2 * (saves < 5) + 1


def test_an_attempt_that_finishes_late_changes_nothing(store: Store) -> None:
    def put(slot: SlotState, number: int) -> None:
        slot.of("sum").put("table", "", {"n": np.full(5_000, number)})

    slot = store.open()
    put(slot, 1)
    slot.save()
    lost = Store(store.folder)
    lost.value = store.value
    forget_cache()
    late = lost.open()  # an attempt at the second save, by a worker that is then cut off
    put(late, 99)
    forget_cache()
    slot = store.open()
    put(slot, 2)
    slot.save()
    committed = store.value
    late.save()
    forget_cache()
    assert store.value == committed
    assert np.array_equal(store.open().of("sum").get("table")["n"], np.full(5_000, 2))  # type: ignore[index]


@pytest.mark.parametrize("seed", seeds(60, usual=20))
def test_the_commit_log_says_which_attempt_counts(store: Store, seed: int) -> None:
    """A step is done by several attempts that leave different state; Spark commits any one of them. Others finish at
    any later time: the files that the committed index names are there, with the content that its attempt left.
    """
    chance = random.Random(seed)
    committed: tuple[Any, ...] | None = None
    model: dict[str, int] = {}
    late: list[SlotState] = []

    def attempt(store: Store, number: int) -> tuple[SlotState, dict[str, int]]:
        store.value = committed
        slot = store.open()
        state = slot.of("sum")
        assert state.keys("table") == sorted(model)
        for key, value in model.items():
            found = state.get("table", key)
            assert found is not None
            assert set(np.asarray(found["n"]).tolist()) == {value}
        wanted = dict(model)
        for key in chance.sample("abcdef", 2):
            wanted[key] = number
            state.put("table", key, {"n": np.full(chance.choice([1, 5_000]), number)})
        return slot, wanted

    for step in range(40):
        finished = []
        for number in range(10 * step, 10 * step + chance.choice([1, 1, 2, 3])):
            if chance.random() < 0.5:
                forget_cache()  # another worker, or a process that was killed
            if chance.random() < 0.2:
                forget_cache()
                late.append(attempt(Store(store.folder), number)[0])
                forget_cache()
            slot, wanted = attempt(store, number)
            slot.save()
            finished.append((store.value, wanted))
        committed, model = chance.choice(finished)
        while late and chance.random() < 0.3:
            late.pop(chance.randrange(len(late))).save()
    for number in range(500, 504):
        slot, model = attempt(store, number)
        slot.save()
        committed = store.value
    forget_cache()
    attempt(store, 600)
    assert store.files <= 6 * 3  # what the other attempts left is gone


def test_a_file_that_was_changed_is_found(store: Store) -> None:
    slot = store.open()
    slot.of("sum").put("table", "", LARGE)
    slot.save()
    (path,) = store.folder.iterdir()
    content = path.read_bytes()
    zeroed = content[:40_960] + bytes(4096) + content[45_056:]
    for damaged in (zeroed, content[:-4096], content + b"more", b"", None):
        if damaged is None:
            path.unlink()
        else:
            path.write_bytes(damaged)
        forget_cache()
        with pytest.raises(RunError, match=f"{path.name}: this file of the checkpoint's state .* new folder"):
            store.open().of("sum").get("table")
    path.write_bytes(content)
    forget_cache()
    assert store.open().of("sum").get("table") is not None


def test_an_index_that_was_changed_is_found(store: Store) -> None:
    slot = store.open()
    slot.of("sum").put("table", "", SMALL)
    slot.save()
    assert store.value is not None
    (packed,) = store.value
    for place in (3, 40, len(packed) - 3):
        store.value = (packed[:place] + bytes([packed[place] ^ 4]) + packed[place + 1 :],)
        with pytest.raises(RunError, match=r"the index of a slot .* is damaged"):
            store.open()
    store.value = (packed[:-8],)
    with pytest.raises(RunError, match=r"the index of a slot .* is damaged"):
        store.open()


def test_a_damaged_state_is_not_taken_for_a_box_that_failed(store: Store) -> None:
    net = Network("n")
    drawn = net.source("s", {"g": int, "time": int}).group_by("g").distinct("box")
    box = net.value.box(drawn.port.box)

    def run(time: int) -> SlotState:
        slot = store.open()
        tuples = pl.DataFrame({"g": np.arange(2000), "time": np.full(2000, time)})
        process_guarded(net.value, box, {"in": Train(tuples, time)}, slot.of("box"), [], SET_ASIDE)
        return slot

    run(1).save()
    for path in store.folder.iterdir():
        path.write_bytes(b"")
    forget_cache()
    with pytest.raises(DamagedStateError):
        run(2)


@pytest.mark.parametrize("seed", seeds(40, quick=8, usual=16))
def test_steps_that_are_repeated_change_nothing(store: Store, seed: int) -> None:
    """Against a dictionary: steps are done, repeated from the value before, by this worker or by another."""
    chance = random.Random(seed)
    model: dict[str, int] = {}
    for step in range(60):
        before, wanted = store.value, dict(model)
        for attempt in range(chance.choice([1, 1, 1, 2, 3])):
            if attempt:
                store.value = before
            if chance.random() < 0.3:
                forget_cache()
            wanted = dict(model)
            slot = store.open()
            state = slot.of("sum")
            assert state.keys("table") == sorted(model)
            for key in chance.sample("abcdefgh", 4):
                what = chance.random()
                if what < 0.4:
                    wanted[key] = 100 * step + attempt
                    length = chance.choice([1, 5_000])
                    state.put("table", key, {"n": np.full(length, wanted[key])})
                elif what < 0.6:
                    wanted.pop(key, None)
                    state.drop("table", key)
                elif key in wanted:
                    found = state.get("table", key)
                    assert found is not None
                    assert set(np.asarray(found["n"]).tolist()) == {wanted[key]}
            if chance.random() < 0.8:
                slot.save()
            else:  # a box failed
                wanted = dict(model)
                store.value = before
        model = wanted
    forget_cache()
    state = store.open().of("sum")
    assert {key: int(state.get("table", key)["n"][0]) for key in state.keys("table")} == model  # type: ignore[index]
