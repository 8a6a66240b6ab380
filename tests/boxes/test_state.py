"""The state of boxes: a train writes about what it touched, and chunks stay few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from arterial import Network
from arterial.boxes.parts.order import Held
from arterial.boxes.parts.table import KeyedTable
from arterial.drawing import StreamHandle
from arterial.network.state import MemoryState
from arterial.network.train import Train

DRAWN: Mapping[str, Any] = {
    "tumble": lambda s: s.tumble("box", every=10_000, n="count(*)", a="avg(x)"),
    "tumble by tuples": lambda s: s.tumble("box", size=100, n="count(*)"),
    "latch": lambda s: s.latch("box", every=10_000, n="count(*)", m="max(x)"),
    "slide by tuples": lambda s: s.slide("box", size=100, m="max(x)"),
    "slide": lambda s: s.slide("box", over=10_000, every=5_000, m="max(x)"),
    "update": lambda s: s.update_relation("box", s.network.relation("r", {"g": int, "t": float}, "g"), t="sum(x)"),
    "resample": lambda s: s.resample("box", every=10, within=10_000, x="linear"),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_a_small_train_on_a_large_state_writes_little(kind: str) -> None:
    net = Network("n")
    drawn: StreamHandle = DRAWN[kind](net.source("s", {"g": int, "time": int, "x": float}).group_by("g"))
    box, state = net.value.box(drawn.port.box), MemoryState()
    large = pl.DataFrame({"g": np.arange(20_000), "time": np.zeros(20_000, np.int64), "x": np.ones(20_000)})
    box.process({"in": Train(large, 0)}, state)
    written = []
    for step in range(1, 20):
        state.touched.clear()
        few = pl.DataFrame({"g": np.arange(5) * step, "time": np.full(5, step), "x": np.ones(5)})
        box.process({"in": Train(few, step)}, state)
        chunks = [state.chunks[at] for at in state.touched if at in state.chunks]
        written.append(sum(len(chunk) for chunk in chunks))
    assert max(written) < 500
    assert len(state.chunks) < 15


def test_held_tuples_come_back_in_the_order_in_which_they_came() -> None:
    held = Held(MemoryState(), "held", "t")
    for i in range(50):
        held.add(pl.DataFrame({"t": [i + 3, i], "i": [2 * i, 2 * i + 1]}))
    taken = pl.concat(held.take(20))
    assert taken["i"].to_list() == [i for i in range(100) if (i // 2 + 3 if i % 2 == 0 else i // 2) <= 20]
    assert len(held.state.keys("held")) < 8
    assert sorted(pl.concat(held.all())["i"].to_list() + taken["i"].to_list()) == list(range(100))


def test_a_table_forgets_what_is_gone() -> None:
    state = MemoryState()
    schema = {"k": pl.Int64(), "v": pl.Int64(), "alive": pl.Int64()}
    begin = pl.DataFrame({"k": [1, 2], "v": [0, 0], "alive": [1, 1]})
    expected = {1: 0, 2: 0}
    chance = np.random.default_rng(3)
    for step in range(200):
        table = KeyedTable(state, "t", schema, ("k",), "alive", begin)
        k, alive = int(chance.integers(0, 30)), int(chance.integers(0, 2))
        expected.pop(k, None)
        if alive:
            expected[k] = step
        changes = pl.DataFrame({"k": [k], "v": [step], "alive": [alive]}, schema=schema)
        rows = pl.concat([table.read().filter(pl.col("k") != k), changes.filter(pl.col("alive") == 1)])
        table.write(rows, changes)
        if chance.random() < 0.5:
            state.memo.clear()
        assert dict(table.read().select("k", "v").iter_rows()) == expected
    assert len(state.keys("t")) < 9
