"""Accounts, and the table that keeps them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from arterial.linearroad.application.kernels.accounts import Requests, settle
from arterial.linearroad.application.kernels.base.hashing import home
from arterial.linearroad.application.kernels.base.table import PIECES, Table
from arterial.linearroad.application.kernels.tolls import Charges
from arterial.network.keys.slots import slots
from arterial.network.state import MemoryState, State

DTYPES: dict[str, type[np.generic]] = {"amount": np.int64}


@pytest.mark.thorough
def test_balances() -> None:
    rng = np.random.default_rng(8)
    state = MemoryState()
    booked: list[tuple[int, int, int]] = []
    for start in range(0, 3000, 10):
        size = int(rng.integers(0, 30))
        time = np.sort(rng.integers(start, start + 10, size))
        vid, toll = rng.integers(0, 40, size) * 2**33, rng.integers(1, 9, size)
        booked += list(zip(time.tolist(), vid.tolist(), toll.tolist(), strict=True))
        asked = np.sort(rng.integers(start, start + 10, 5))
        who = rng.integers(0, 42, 5) * 2**33
        if start % 70 == 0:
            state.memo.clear()
        nowhere = np.zeros(size, np.int32)
        given = settle(state, Charges(vid, time, toll, nowhere, nowhere), Requests(asked, who, np.arange(5)))
        for row in range(5):
            mine = [(t, amount) for t, v, amount in booked if v == who[row] and t <= asked[row]]
            last = mine[-1][0] if mine and asked[row] - mine[-1][0] <= 60 else asked[row]
            assert (given.result_time[row], given.balance[row]) == (last, sum(amount for _, amount in mine))


def test_a_charge_after_the_request_of_the_same_train() -> None:
    one = np.array([1])
    charge = Charges(one, np.array([30]), np.array([8]), one, one)
    given = settle(MemoryState(), charge, Requests(np.array([29]), one, one))
    assert (given.result_time.tolist(), given.balance.tolist()) == ([29], [0])


def add_some(state: MemoryState, train: int, rng: np.random.Generator, expected: dict[int, int]) -> Table:
    """Add the number of a train to some rows of the state's table, and to what is expected of it."""
    table = Table.open(state, DTYPES)
    keys = np.unique(rng.integers(0, 10_000, int(rng.choice([0, 1, 60])))) * 7
    rows = table.insert(keys)
    table.columns["amount"][rows] += train
    for key in keys.tolist():
        expected[key] = expected.get(key, 0) + train
    table.save(state, rows)
    return table


@pytest.mark.parametrize("moved", [1, 100, 1 << 18])
def test_the_table_comes_back_from_its_chunks(moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.linearroad.application.kernels.base.table.MOVED_AT_ONCE", moved)
    rng = np.random.default_rng(9)
    state = MemoryState()
    expected: dict[int, int] = {}
    for train in range(300):
        table = add_some(state, train, rng, expected)
        assert table.find(np.array(list(expected), np.int64)).tolist() == list(range(len(expected)))
        if train % 40 == 39:
            state.memo.clear()
            again = Table.open(state, DTYPES)
            found = again.find(np.array(list(expected)))
            assert again.columns["amount"][found].tolist() == list(expected.values())
            assert again.used == len(expected)
            assert again.trains == table.trains
    assert len(state.chunks) <= 2 * PIECES
    assert table.find(np.array([5])).tolist() == [-1]


def test_the_vehicles_of_one_slot_fill_the_whole_table() -> None:
    vids = (np.arange(150)[:, None] + 10**6 * np.arange(500)).ravel()
    mine = vids[slots(pl.DataFrame({"vid": vids}), ("vid",), 2) == 0]
    taken = np.bincount([home(vid, 6) for vid in mine.tolist()], minlength=64)
    assert taken.min() > 0.5 * taken.mean()
    assert taken.max() < 1.5 * taken.mean()


class Worker(MemoryState):
    """One of several that share the chunks of a slot, and have each a memory of their own."""

    def __init__(self, slot: MemoryState) -> None:
        super().__init__()
        self.chunks = slot.chunks

    def take_over(self) -> None:
        """Others may have had the slot since: what is remembered is of an earlier train."""
        self.earlier_memo, self.memo = self.memo, {}


@pytest.mark.thorough
@pytest.mark.parametrize("moved", [1, 100, 1 << 18])
@pytest.mark.parametrize("seed", range(6))
def test_a_table_of_an_earlier_train_catches_up(seed: int, moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.linearroad.application.kernels.base.table.MOVED_AT_ONCE", moved)
    caught_up: list[bool] = []
    catch_up = Table._catch_up

    def watched(self: Table, state: State) -> bool:
        caught_up.append(catch_up(self, state))
        return caught_up[-1]

    monkeypatch.setattr(Table, "_catch_up", watched)
    rng = np.random.default_rng(seed)
    slot = MemoryState()
    workers = [Worker(slot) for _ in range(3)]
    # The last worker has its turn so seldom that the log no longer reaches back.
    order = rng.choice(3, 400, p=[0.5, 0.49, 0.01]) if seed % 2 else rng.choice(2, 400)
    expected: dict[int, int] = {}
    for train, number in enumerate(order.tolist()):
        worker = workers[number]
        if train and order[train - 1] != number:
            worker.take_over()
        table = add_some(worker, train, rng, expected)
        found = table.find(np.array(list(expected), np.int64))
        assert found.tolist() == list(range(len(expected)))
        assert table.columns["amount"][found].tolist() == list(expected.values())
    assert len(caught_up) > 100
    assert caught_up.count(False) <= (7 if seed % 2 else 0), "a table that can catch up is not built again"
