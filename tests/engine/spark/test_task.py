"""The tasks of a run, without Spark: versions of a network over one slot's state, also a step that is run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.connectors.source import Ask, Source, Span
from arterial.engine.plan.successor import born_in
from arterial.engine.run.binding import plan_run
from arterial.engine.spark.packed_work import PackedWork
from arterial.engine.spark.task import Step, run_head, run_slot
from arterial.engine.spark.work import Work
from arterial.engine.transport.rows import REPORT, unpack_report
from arterial.engine.transport.tuples import unpack_tuples
from arterial.figures.steering import Steering
from arterial.network.network import NetworkValue
from arterial.storage.epoch import take_over
from tests.engine.tiny import SCHEMA, Add, By, Enter, Leave, Running, chain, numbers, trains

SUM = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))
WITHOUT = chain(Enter("in"), By("by"), Add("more"), Leave("out"))


class Store:
    """The one value that Spark keeps for a slot."""

    def __init__(self, value: tuple[Any, ...] | None = None) -> None:
        self.value = value

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, newValue: tuple[Any, ...]) -> None:  # noqa: N803
        self.value = newValue


class Tasks:
    """The tasks of one slot, step by step; each step's version is said by who calls."""

    def __init__(self, folder: Path, versions: list[NetworkValue]) -> None:
        self.source: Source = MemorySource([step["in"] for step in trains(numbers(60), 3)]).bind(
            "in", SCHEMA, "time", folder
        )
        self.at = [self.source.begin()]
        born: dict[str, int] = {}
        works = []
        for number, network in enumerate(versions, start=1):
            plan = plan_run(network, 1, {"in": self.source})
            born = born_in(number, versions[number - 2], network, born) if number > 1 else {}
            sinks = {"out": MemorySink()}
            works.append(Work("r" * 32, plan, {"in": self.source}, sinks, "fail", str(folder), number, born))
        take_over(folder, works[0].run)
        self.packed = PackedWork.of(works[0], folder)
        for work in works[1:]:
            self.packed.add(work)
        self.stores: list[Store] = [Store()]

    def step(self, number: int, version: int) -> pl.DataFrame:
        """Run a step, maybe again, from the state before it; what came out."""
        if number == len(self.at):
            self.at.append(self.source.plan(self.at[-1], Ask(0.0, 1000)))
        work = self.packed.load(version)
        span = {"in": Span(self.at[number - 1], self.at[number])}
        step = Step(number, 0, 1.0, Steering(version))
        store = Store(self.stores[number - 1].value)
        rows = run_head(work, step, span, {})
        here = [packed for _, packed in rows if packed[:4] != REPORT]
        sent = run_slot(self.packed, 0, work.keys[0], here, store)
        self.stores[number:] = [store]
        said = [unpack_report(packed) for _, packed in sent if packed[:4] == REPORT]
        delivered = [payload for label, payload in said if "deliver" in label]
        return pl.concat([unpack_tuples(payload, SCHEMA) for payload in delivered if len(payload)])


def test_a_box_that_comes_again_begins_empty_and_an_older_step_is_as_it_was(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path, [SUM, WITHOUT, SUM])
    tasks.step(1, 1)
    second = tasks.step(2, 1)
    without = tasks.step(3, 2)
    assert tasks.stores[3].value != tasks.stores[2].value  # the sums are gone
    assert b"sum" not in tasks.stores[3].value[0]  # type: ignore[index]
    again = tasks.step(4, 3)
    assert b"sum/3" in tasks.stores[4].value[0]  # type: ignore[index]
    tuples = pl.concat([step["in"].tuples for step in trains(numbers(60), 3)][3:4])
    fresh = tuples.with_columns(value=pl.col("value").cum_sum().over("key"))
    assert again.sort(again.columns).equals(fresh.sort(again.columns))
    # Steps that are run again after a crash, with the versions that they had.
    assert tasks.step(2, 1).equals(second)
    assert tasks.step(3, 2).equals(without)
    assert tasks.step(4, 3).equals(again)
