"""Reads the input of a network again: once to find the rows of an output, once more for the tuples concerned."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from arterial.boxes.ends.source import LATE
from arterial.connectors.files.source import FileSource
from arterial.connectors.live.spooled import SpooledSource
from arterial.connectors.source import Part, Source, Span
from arterial.connectors.tables.source import TableSource
from arterial.engine.host.failures import SET_ASIDE
from arterial.engine.host.inprocess import InProcess
from arterial.engine.run.binding import bind_sources, close_sources, first_port, plan_run
from arterial.engine.steering.offsets import plan_step
from arterial.errors import RunError
from arterial.network.box import OUT, SIGN
from arterial.network.expression.parser import predicate
from arterial.network.expression.vectorised import evaluate
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Schema, Type
from arterial.network.train import END, FURTHEST, Train
from arterial.reference.parts.causes import Region
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, group_of

TRAIN_SIZE = 200_000
MOST_ROWS = 10_000
"""So many rows that fit a condition are kept; of the others only the number."""
MOST_TUPLES = 100_000
"""So many tuples of the sources the interpreter is given at most."""


def is_readable_again(source: Any) -> bool:
    """Whether what a source read can be read once more."""
    return isinstance(source, Source) and not isinstance(source, SpooledSource)


def readable_again(name: str, source: Any) -> Source:
    """A source as it is read once more: from its beginning, as fast as possible, to the end of what is there."""
    if isinstance(source, FileSource):
        return replace(source, speed=None, follow=False, request=None, folder="", _paces=[], _live=[])
    if isinstance(source, TableSource):
        return replace(source, refresh=None, folder="")
    if not is_readable_again(source):
        if isinstance(source, SpooledSource):
            what = f"took what arrives ({type(source).__name__}), which"
        elif source is None:
            what = "is no file, and what it read is not known; it"
        else:
            what = f"read a {type(source).__name__}, which"
        raise RunError(
            f"source {name!r} {what} is not read again; keep what comes in a file, and give that: "
            f"--source {name}=FILE (in Python {name}=…); or keep it at a connection point of the network"
        )
    again: Source = source
    return again


def find_rows(
    network: NetworkValue, sources: Mapping[str, Source], output: str, asked: str | Mapping[str, Any]
) -> tuple[Tuples, int]:
    """The rows of an output for which a condition is true, or that have some values; and how many there are.

    The first of them are kept.
    """
    test = _test(asked, network.box(output).fed_by["in"].schema)
    found: Tuples = []
    number = 0
    with tempfile.TemporaryDirectory(prefix="arterial-why-") as folder:
        bound = bind_sources(network, sources, Path(folder))
        host = InProcess(plan_run(network, 1, bound), policy=SET_ASIDE)
        for trains in _steps(bound):
            rows = host.gather(host.step_by_slot({name: [parts] for name, parts in trains.items()}))[output].tuples
            rows = test(rows) if rows.height else rows
            found += rows.head(max(0, MOST_ROWS - len(found))).to_dicts()
            number += rows.height
    return found, number


def _test(asked: str | Mapping[str, Any], schema: Schema) -> Callable[[pl.DataFrame], pl.DataFrame]:
    if not isinstance(asked, str):
        tests = []
        for name, value in asked.items():
            if name not in schema:
                raise RunError(f"there is no column {name!r}; there are: {', '.join(schema.names)}")
            held = group_of({name: _typed(value, schema[name], name)}, (name,))
            tests.append(_is_one_of(schema[name].polars, name, frozenset(held)))
        return lambda rows: rows.filter(*tests)
    if not asked.strip():
        return lambda rows: rows
    tree = predicate(asked, schema)
    return lambda rows: rows.filter(evaluate(rows, [tree])[0].fill_null(False))


def _typed(value: Any, kind: Type, name: str) -> Any:
    """A value as JSON holds it, as the column does: times are texts, or numbers of microseconds; a whole number that
    JavaScript has none for is a text too."""
    try:
        if value is None:
            return None
        if kind is Type.TIMESTAMP and isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
        if kind is Type.TIMESTAMP and isinstance(value, int):
            return instant_to_value(value, kind)
        if isinstance(value, str) and kind.is_integer:
            return int(value)
        return float(value) if kind is Type.FLOAT64 else value
    except (ValueError, TypeError, OverflowError) as mistake:
        raise RunError(f"the column {name!r} is {kind.value}; {value!r} is not: {mistake}") from None


def read_parts(
    network: NetworkValue, sources: Mapping[str, Source], regions: Mapping[Port, Region]
) -> dict[Port, Tuples]:
    """The tuples of all sources that are in some regions; those that came late by their own port."""
    frames: dict[Port, list[pl.DataFrame]] = {}
    number = 0
    with tempfile.TemporaryDirectory(prefix="arterial-why-") as folder:
        bound = bind_sources(network, sources, Path(folder))
        highest: dict[str, int | None] = {}
        for trains in _steps(bound):
            for name, train in ((name, train) for name, parts in trains.items() for train in parts):
                taken, late = train.tuples, train.late
                if not bound[name].ordered:
                    taken, late, highest[name] = _in_order(network, name, taken, highest.get(name))
                for port, some in ((first_port(network, name).port, taken), (LATE, late)):
                    region = regions.get(Port(name, port))
                    if region is not None and some is not None:
                        kept = _inside(some, region, network.streams[Port(name, port)].time)
                        number += kept.height
                        frames.setdefault(Port(name, port), []).append(kept)
            if number > MOST_TUPLES:
                raise RunError(
                    f"more than {MOST_TUPLES:,} tuples of the sources could have changed this row, too many to go "
                    "through one by one; ask about a row that is made of fewer"
                )
    found: dict[Port, Tuples] = {}
    for at, parts_of in frames.items():
        tuples = pl.concat(parts_of)
        if not bound[at.box].ordered and at.port == OUT:
            tuples = tuples.sort(network.streams[at].time, maintain_order=True)
        found[at] = tuples.to_dicts()
    return found


def _steps(sources: Mapping[str, Source]) -> Iterator[dict[str, list[Train]]]:
    """What all sources have to give, from the beginning to the end."""
    at = {name: source.begin() for name, source in sources.items()}
    try:
        while any(progress.through != END for progress in at.values()):
            after = plan_step(sources, at, TRAIN_SIZE, time.time())
            if after == at:
                return
            yield {
                name: list(source.read_trains(Span(at[name], after[name]), Part(0, 1)))
                for name, source in sources.items()
            }
            at = after
    finally:
        close_sources(sources, ended=True)


def _in_order(
    network: NetworkValue, name: str, arrivals: pl.DataFrame, highest: int | None
) -> tuple[pl.DataFrame, pl.DataFrame, int | None]:
    """What a source box makes of arrivals: those in time, those too late, and the highest time so far."""
    from arterial.network.duration import units

    stream = network.streams[first_port(network, name)]
    disorder = units(getattr(network.box(name), "disorder", 0), stream.schema[stream.time], "disorder", least=0)
    times = arrivals[stream.time].to_physical().cast(pl.Int64)
    usable = times.is_not_null() & ((times >= -FURTHEST) & (times <= FURTHEST)).fill_null(False)
    if stream.signed:
        usable &= arrivals[SIGN].is_in([1, -1]).fill_null(False)
    seen = pl.select(pl.when(usable).then(times)).to_series().cum_max().forward_fill()
    before = seen.shift(1)
    if highest is not None:
        before = before.fill_null(highest).clip(lower_bound=highest)
    late = ~usable | (times < before - disorder).fill_null(False)
    tops = [one for one in (highest, *seen.tail(1).to_list()) if one is not None]
    return arrivals.filter(~late), arrivals.filter(late), max(tops, default=None)


def _inside(tuples: pl.DataFrame, region: Region, time: str) -> pl.DataFrame:
    """The tuples of a region; the rest is never made into Python's."""
    at = pl.col(time).to_physical().cast(pl.Int64)
    tests = []
    if region.begin > -math.inf:
        tests.append(at.is_null() | (at >= int(region.begin)))
    if region.end < math.inf:
        tests.append(at.is_null() | (at <= int(region.end)))
    tests += [_is_one_of(tuples.schema[name], name, some) for name, some in region.where.items()]
    return tuples.filter(*tests) if tests else tuples


def _is_one_of(kind: Any, name: str, values: frozenset[Any]) -> pl.Expr:
    """Whether a column has one of these values, as `group_of` gives them: null is a value, and NaN is NaN."""
    column = pl.col(name)
    if kind in (pl.Float64, pl.Float32):
        some = [value for value in values if isinstance(value, float)]
        test = column.is_in(some) | ((column.is_nan() & column.is_not_null()) if "NaN" in values else pl.lit(False))
    else:
        test = column.is_in(pl.Series([value for value in values if value is not None], dtype=kind).implode())
    return (test.fill_null(False) | column.is_null()) if None in values else test.fill_null(False)
