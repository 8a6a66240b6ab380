"""State for another number of shards: the rows of every table go to the slot that their group has now (decision 47).

A group is in one slot before and in one slot afterwards, so the order of its own rows stays. What a box holds beside
rows are clocks, which only go forward: a slot that is behind has no groups, so the furthest holds for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.engine.plan.plan import Channel, Plan, Route, Where
from arterial.engine.plan.successor import queue_of
from arterial.errors import RunError
from arterial.network.box import Box
from arterial.network.keys.slots import split
from arterial.network.network import Port
from arterial.network.state import Chunk

Chunks = Mapping[tuple[str, str], Chunk]
"""What one owner keeps in one slot, by table and key."""

_LOG_KEY = "{:012d}"


@dataclass(frozen=True)
class Rule:
    """What becomes of the state of a box, or of what waits at the end of a channel."""

    owner: str
    columns: tuple[str, ...] = ()
    """By which its rows belong to slots; none: it stays in slot 0."""
    time_of: Callable[[str], str] = str
    """The time column of a table in which tuples wait."""
    numbered: Mapping[str, str] | None = None
    everywhere: bool = False
    """It is the same in every slot."""
    refused: str = ""
    """Why it cannot be moved, if it keeps anything."""


def rules(plan: Plan, owners: Mapping[str, str]) -> dict[str, Rule]:
    """The rule for each owner of state, by the name under which it is kept."""
    found: dict[str, Rule] = {}
    for level in (plan.head, *plan.levels):
        for superbox in level.superboxes:
            for box in superbox.boxes:
                found[owners[box.name]] = _rule_of_box(plan, box, superbox.where)
        for channel in level.arrivals:
            found[owners[channel.waits]] = _rule_of_channel(plan, channel)
    for arc in plan.network.arcs:
        name = queue_of(str(arc))
        why = f"tuples wait on the arc {arc}; let them through first: arterial resume, then arterial stop"
        found[owners[name]] = Rule(name, refused=why)
    return found


def regroup(rule: Rule, before: Sequence[Chunks], shards: int) -> list[dict[tuple[str, str], Chunk]]:
    """What an owner keeps in each of so many slots, from what it kept in each slot before."""
    if not any(before):
        return [{} for _ in range(shards)]
    if rule.refused:
        raise RunError(f"the number of shards cannot change: {rule.refused}")
    if rule.everywhere:
        return [dict(before[0]) for _ in range(shards)]
    if not rule.columns:
        return [dict(before[0]), *({} for _ in range(shards - 1))]
    after: list[dict[tuple[str, str], Chunk]] = [{} for _ in range(shards)]
    for table in sorted({table for chunks in before for table, _ in chunks}):
        frames = [
            (slot, key, chunk) for slot, key, chunk in _of_table(before, table) if isinstance(chunk, pl.DataFrame)
        ]
        if frames:
            _regroup_rows(rule, table, frames, len(before), after)
        else:
            _copy_clocks(rule, table, before, after)
    return after


def _of_table(before: Sequence[Chunks], table: str) -> Iterable[tuple[int, str, Chunk]]:
    """The chunks of a table, slot by slot, in the order in which they were written."""
    for slot, chunks in enumerate(before):
        for name, key in sorted(chunks):
            if name == table:
                yield slot, key, chunks[name, key]


def _regroup_rows(
    rule: Rule,
    table: str,
    frames: list[tuple[int, str, pl.DataFrame]],
    slots: int,
    after: list[dict[tuple[str, str], Chunk]],
) -> None:
    number = (rule.numbered or {}).get(table)
    parts = [
        frame if number is None else frame.with_columns(pl.col(number) * slots + slot) for slot, _, frame in frames
    ]
    rows = pl.concat(parts)
    if missing := [name for name in rule.columns if name not in rows.columns]:
        raise RunError(
            f"the number of shards cannot change: box {rule.owner!r} keeps the table {table!r} without the column "
            f"{missing[0]!r} that its shards are made by"
        )
    key = frames[0][1]
    is_log = "." in key  # a `KeyedTable`: its keys say how many rows a chunk has
    if not is_log:
        rows = rows.sort(rule.time_of(table), maintain_order=True)
    for slot, part in enumerate(split(rows, rule.columns, len(after))):
        if part.height:
            name = f"{_LOG_KEY.format(0)}.{part.height}" if is_log else _LOG_KEY.format(0) if key else ""
            after[slot][table, name] = part


def _copy_clocks(rule: Rule, table: str, before: Sequence[Chunks], after: list[dict[tuple[str, str], Chunk]]) -> None:
    for key in sorted({key for chunks in before for name, key in chunks if name == table}):
        found = [dict[str, Array](chunks[table, key]) for chunks in before if (table, key) in chunks]  # type: ignore[arg-type]
        furthest = {name: np.maximum.reduce([clock[name] for clock in found]) for name in found[0]}
        if number := (rule.numbered or {}).get(table):
            furthest[number] = furthest[number] * len(before)
        for chunks in after:
            chunks[table, key] = furthest


def _rule_of_box(plan: Plan, box: Box, where: Where) -> Rule:
    if where is not Where.KEY:
        return Rule(box.name)
    if not box.splits_by_group:
        why = f"box {box.name!r} ({box.kind}) keeps state by shard in a form of its own; begin a new run with --shards"
        return Rule(box.name, refused=why)
    arrivals = plan.network.arrivals(box)

    def time_of(table: str) -> str:
        port = table.partition(".")[0]
        return box.fed_by[port if port in arrivals else next(iter(arrivals))].time

    return _by_columns(plan, next(iter(arrivals.values())), box.name, time_of, box.numbered)


def _rule_of_channel(plan: Plan, channel: Channel) -> Rule:
    def time_of(table: str) -> str:
        return channel.stream.time

    if channel.route is Route.FIRST:
        return Rule(channel.waits)
    if channel.route is Route.SPLIT:
        return Rule(channel.waits, channel.columns, time_of)
    if channel.route is Route.ALL:
        return Rule(channel.waits, everywhere=True)
    return _by_columns(plan, channel.begin, channel.waits, time_of, {})


def _by_columns(plan: Plan, port: Port, owner: str, time_of: Callable[[str], str], numbered: Mapping[str, str]) -> Rule:
    columns = plan.sharded_by.get(port)
    if not columns:
        return Rule(owner, refused=f"by which columns {owner!r} is spread over the shards is not known")
    return Rule(owner, columns, time_of, numbered)
