from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from arterial.engine.memory import MemoryFolder
from arterial.engine.shelf import PLACE
from arterial.engine.state import SlotState, forget_cache


class Store:
    """What Spark's state store is to a slot, in memory; counts the calls."""

    def __init__(self) -> None:
        self.chunks: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.calls: list[str] = []

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:  # noqa: N802
        self.calls.append("get" if key[0] else "get index")
        return self.chunks.get(key)

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        self.calls.append("put" if key[0] else "put index")
        self.chunks[key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        self.calls.append("remove")
        self.chunks.pop(key, None)

    def open(self) -> SlotState:
        self.calls.clear()
        return SlotState("slot", self)


@pytest.fixture
def store() -> Iterator[Store]:
    forget_cache()
    yield Store()
    forget_cache()


SMALL = pl.DataFrame({"n": [1, 2, 3]})
LARGE = {"n": np.arange(10_000)}


def test_state_survives_a_worker(store: Store) -> None:
    slot = store.open()
    slot.of("sum").put("table", "small", SMALL)
    slot.of("sum").put("table", "large", LARGE)
    slot.save()
    assert store.calls == ["get index", "put", "put index"]
    for lost_worker in (False, True):
        if lost_worker:
            forget_cache()
        state = store.open().of("sum")
        assert state.keys("table") == ["large", "small"]
        assert state.keys("tab") == []
        small, large = state.get("table", "small"), state.get("table", "large")
        assert isinstance(small, pl.DataFrame)
        assert small.equals(SMALL)
        assert large is not None
        assert np.array_equal(large["n"], LARGE["n"])
        assert store.calls == ["get index"] + ["get"] * lost_worker
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
    slot.save()
    assert store.calls == ["get index", "put", "remove", "put index"]
    slot = store.open()
    slot.of("sum").get("table", "a")
    slot.save()
    assert store.calls == ["get index"]


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
    from arterial.engine import state as module

    kept = dict(module._cache)
    forget_cache()
    elsewhere = store.open()
    elsewhere.of("sum").put("table", "", SMALL.head(2))
    elsewhere.save()
    module._cache.clear()
    module._cache.update(kept)
    back = store.open()
    assert back.of("sum").memo == {}
    got = back.of("sum").get("table")
    assert isinstance(got, pl.DataFrame)
    assert got.height == 2


def test_another_worker_finds_chunks_on_the_shelf(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = MemoryFolder.make("shelf")
    assert shelf is not None
    monkeypatch.setenv(PLACE, str(shelf.path))
    try:
        slot = store.open()
        slot.of("sum").put("table", "a", LARGE)
        slot.of("sum").put("table", "b", LARGE)
        slot.save()
        forget_cache()
        slot = store.open()
        found = slot.of("sum").get("table", "a")
        assert found is not None
        assert np.array_equal(found["n"], LARGE["n"])
        assert store.calls == ["get index"]
        # What an attempt laid there that was never committed is passed over.
        before = dict(store.chunks)
        slot.of("sum").put("table", "a", {"n": np.arange(20_000)})
        slot.save()
        store.chunks = before
        forget_cache()
        again = store.open().of("sum").get("table", "a")
        assert again is not None
        assert np.array_equal(again["n"], LARGE["n"])
        assert store.calls == ["get index", "get"]
        slot = store.open()
        slot.of("sum").drop("table", "b")
        slot.save()
        assert len([path for path in shelf.path.iterdir() if path.name != "lock"]) == 1
    finally:
        shelf.remove()
    assert not shelf.path.exists()
