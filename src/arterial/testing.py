"""Helpers to test networks and boxes, without Spark and without waiting.

    check_network(net, {"reports": tuples})                      # both engines agree, however the stream is cut
    check_box(MyBox("mine"), {"in": tuples}, {"in": stream})     # a box of your own, in every shard and cut

`run` gives the outputs of a network as lists, `show` prints what leaves a box, `Clock` is a clock that tests set.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from arterial.boxes.ends.output import Output
from arterial.boxes.ends.source import Source
from arterial.boxes.tuples.group_by import GroupBy
from arterial.connectors.frames import frame_from
from arterial.drawing import Network, StreamHandle
from arterial.engine.host.inprocess import InProcess
from arterial.engine.plan.plan import Plan
from arterial.engine.state.chunks import pack_chunk
from arterial.errors import ArterialError, NetworkError, near
from arterial.network.box import SIGN, Box, Stream
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Schema
from arterial.network.signed import row_columns
from arterial.network.state import Chunk
from arterial.network.train import BEGIN, END, Train
from arterial.reference import Meaning, interpret
from arterial.reference.parts.scalar import value_to_instant

Tuples = Sequence[Mapping[str, Any]]
Row = tuple[tuple[str, Any], ...]
"""A row of a signed stream: names and values."""


class DisagreementError(ArterialError, AssertionError):
    """Two runs that must give the same gave different tuples."""


@dataclass
class Clock:
    """A clock for tests: it shows what it was set to."""

    now: float = 0.0

    def __call__(self) -> float:
        """The time that it shows, in seconds."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += seconds


@dataclass
class ListSink:
    """Keeps what is delivered to it, by output."""

    tuples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __call__(self, output: str, train: Train) -> None:
        """Take a train."""
        self.tuples.setdefault(output, []).extend(train.tuples.to_dicts())


def frame(tuples: Tuples, schema: Schema, where: str = "frame") -> pl.DataFrame:
    """Tuples as the columns of a train. What a tuple lacks is null; a column that the schema lacks is an error."""
    return frame_from(list(tuples), schema, where)


def run(
    network: NetworkValue | Network,
    arrivals: Mapping[str, Tuples],
    *,
    shards: int = 1,
    trains: int = 1,
    seed: int = 0,
    restarts: bool = False,
) -> dict[str, list[dict[str, Any]]]:
    """What arrives at each output when these tuples arrive at the sources, in that order, cut into so many trains.

    The seed decides where the cuts are. With `restarts` nothing but the state survives from one train to the next.
    """
    value = network.value if isinstance(network, Network) else network
    host = InProcess(value, shards=shards)
    sink = ListSink({name: [] for name in value.output_names})
    for step in _steps(value, arrivals, trains, random.Random(seed)):
        for name, train in host.step(step).items():
            if name in sink.tuples:
                sink(name, train)
        if restarts:
            host.restart()
    return sink.tuples


def check_network(
    network: NetworkValue | Network,
    arrivals: Mapping[str, Tuples],
    *,
    meanings: Mapping[str, Meaning] | None = None,
    tries: int = 4,
    trains: int = 6,
    seed: int = 0,
) -> None:
    """Raise unless the vectorised boxes give what the interpreter gives, in any cut, shards, and after restarts.

    The first try is one train in one shard; the others are cut into up to so many `trains`, at random places, and run
    twice: by one worker, and by others that remember less of the trains before. Both must leave the same state.
    """
    value = network.value if isinstance(network, Network) else network
    steps(value, arrivals, trains=1)  # raises what is wrong with the tuples before the interpreter meets it
    expected = interpret(value, arrivals, meanings)
    _compare(value, arrivals, expected, "the interpreter", tries, trains, seed)


def check_box(
    box: Box,
    inputs: Mapping[str, Tuples],
    streams: Mapping[str, Stream],
    *,
    meaning: Meaning | None = None,
    tries: int = 8,
    seed: int = 0,
) -> None:
    """Raise unless a box gives the same in any cut into trains, in any number of shards, and after restarts.

    The state that it leaves must not depend on what the worker remembers (its memos): not by a bit.

    With its `meaning` (a function like those of `arterial.reference`) it is compared with that; else with itself, on
    one train in one shard. The tuples come in the order of their time, where their stream has one.
    """
    for what, given in (("tuples", inputs), ("streams", streams)):
        if set(given) != set(box.inputs):
            expected, got = ", ".join(box.inputs), ", ".join(given) or "none"
            raise NetworkError(f"box {box.name!r}: expected {what} for its inputs {expected}; got them for {got}")
    net = Network("check")
    handles: dict[str, StreamHandle] = {}
    arrivals: dict[str, Tuples] = {}
    for port in box.inputs:
        stream = streams[port]
        source = net.box(Source(f"source of {port}", stream.schema, stream.time, signed=stream.signed))
        arrivals[f"source of {port}"] = inputs[port]
        handles[port] = net.box(GroupBy(f"group of {port}", stream.keyed_by), **{"in": source})
    net.box(box, **handles)
    for port in box.outputs:
        net.box(Output(f"{box.name}.{port}"), **{"in": StreamHandle(net, Port(box.name, port))})
    if meaning is not None:
        check_network(net, arrivals, meanings={box.kind: meaning}, tries=tries, seed=seed)
    else:
        _compare(net.value, arrivals, run(net, arrivals), "one train in one shard", tries, 6, seed)


def show(draw: Callable[[StreamHandle], StreamHandle], **columns: Sequence[Any]) -> None:
    """Print what leaves the stream that `draw` makes of a source with these columns; their time is `time`.

    >>> show(lambda s: s.map("next", x="x + 1"), time=[1, 2], x=[7, None])
    time     x
       1     8
       2  null
    """
    net = Network("show")
    types = {name: next((type(v) for v in values if v is not None), int) for name, values in columns.items()}
    shown = draw(net.source("s", types))
    net.box(Output("shown"), **{"in": shown})
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    got = run(net, {"s": rows})["shown"]
    cells = [("null" if value is None else str(value) for value in row.values()) for row in got]
    table = [shown.schema.names, *map(tuple, cells)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def compare(network: NetworkValue, expected: Mapping[str, Tuples], got: Mapping[str, Tuples], what: str) -> None:
    """Raise unless each output got what was expected: the same list, or where only groups have an order, per group."""
    for name, tuples in got.items():
        stream = network.box(name).fed_by["in"]
        if _ordered_view(tuples, stream) != _ordered_view(expected[name], stream):
            raise DisagreementError(
                f"network {network.name!r}, output {name!r} ({what}):\n  expected:\n{_shown(expected[name])}\n"
                f"  got:\n{_shown(tuples)}"
            )


def compare_state(calm: InProcess, disturbed: InProcess, when: str) -> None:
    """Raise unless two hosts of a network hold the same chunks: a worker of all trains, and others that took turns."""
    for name in sorted(calm.touched() | disturbed.touched()):
        one, other = calm.chunk(name), disturbed.chunk(name)
        if not _same(one, other):
            slot, box, table, key = name
            raise DisagreementError(
                f"network {calm.plan.network.name!r}, box {box!r}: its state depends on what the worker remembers. "
                f"After {when} the chunk {key!r} of the table {table!r} in slot {slot} differs; it must follow from "
                f"the state before and the trains alone:\n  by the worker of all trains:\n{one}\n  by another:\n{other}"
            )


def standing(tuples: Tuples, stream: Stream) -> list[tuple[int, dict[Row, int]]]:
    """What a signed stream stands for: after each instant at which that changes, how often each row stands.

    Two streams with the same value have the same answer at every instant. Raises if a row goes that does not stand.
    """
    names = sorted(row_columns(stream))
    stands: Counter[Row] = Counter()
    answers: list[tuple[int, dict[Row, int]]] = [(BEGIN, {})]
    for values in tuples:
        at = value_to_instant(values[stream.time])
        row = tuple((name, _comparable(values[name])) for name in names)
        stands[row] += values[SIGN]
        if stands[row] < 0:
            raise DisagreementError(f"at {at} a row goes that does not stand: {dict(values)}")
        if at != answers[-1][0]:
            answers.append((at, {}))
        answers[-1] = (at, {row: count for row, count in stands.items() if count})
    return [now for before, now in zip([(BEGIN, {}), *answers], answers, strict=False) if now[1] != before[1]]


def steps(network: NetworkValue, arrivals: Mapping[str, Tuples], trains: int, seed: int = 0) -> list[dict[str, Train]]:
    """The tuples of every source as trains of arrivals, cut at random places, sometimes with a promise."""
    return list(_steps(network, arrivals, trains, random.Random(seed)))


def _compare(
    network: NetworkValue,
    arrivals: Mapping[str, Tuples],
    expected: Mapping[str, Tuples],
    what: str,
    tries: int,
    most_trains: int,
    seed: int,
) -> None:
    chance = random.Random(seed)
    plans: dict[int, Plan] = {}
    for attempt in range(tries):
        settings = {
            "shards": 1 if attempt == 0 else chance.choice((1, 2, 3)),
            "trains": 1 if attempt == 0 else chance.randint(1, most_trains),
            "seed": chance.randrange(2**30),
        }
        shards = settings["shards"]
        if shards not in plans:
            plans[shards] = InProcess(network, shards=shards).plan
        for way, got in _run_twice(plans[shards], arrivals, settings["trains"], settings["seed"]).items():
            compare(network, expected, got, f"{what}, against {settings}, {way}")


def _run_twice(
    plan: Plan, arrivals: Mapping[str, Tuples], trains: int, seed: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The outputs of a run by one worker, and of one by several; after each train both must have the same state."""
    chance, network = random.Random(seed), plan.network
    steps = list(_steps(network, arrivals, trains, random.Random(seed)))
    hosts = {"by one worker": InProcess(plan), "by several workers": InProcess(plan)}
    calm, disturbed = hosts.values()
    sinks = {way: ListSink({name: [] for name in network.output_names}) for way in hosts}
    for number, step in enumerate(steps):
        for way, host in hosts.items():
            for name, train in host.step(step).items():
                if name in sinks[way].tuples:
                    sinks[way](name, train)
        compare_state(calm, disturbed, f"train {number + 1} of {trains} in {plan.shards} shards, seed {seed}")
        chance.choice((disturbed.restart, disturbed.change_worker))()
    return {way: sink.tuples for way, sink in sinks.items()}


def _same(one: Chunk | None, other: Chunk | None) -> bool:
    """Whether two chunks are alike to the last bit of every value; the padding of Arrow's buffers may differ."""
    if one is None or other is None:
        return one is other
    if b"".join(pack_chunk(one)) == b"".join(pack_chunk(other)):
        return True
    if not (isinstance(one, pl.DataFrame) and isinstance(other, pl.DataFrame)):
        return False
    return one.schema == other.schema and repr(one.rows()) == repr(other.rows())


def _steps(
    network: NetworkValue, arrivals: Mapping[str, Tuples], trains: int, chance: random.Random
) -> Iterator[dict[str, Train]]:
    """Trains of every source, cut at random places, sometimes with a promise about what is complete."""
    sources = {box.name: network.streams[Port(box.name, box.outputs[0])] for box in network.boxes if not box.inputs}
    for name in arrivals:
        if name not in sources:
            raise NetworkError(
                f"network {network.name!r} has no source {name!r}; it has: {', '.join(sources)}{near(name, sources)}"
            )
    frames = {
        name: frame(arrivals.get(name, ()), stream.schema, f"network {network.name!r}, source {name!r}")
        for name, stream in sources.items()
    }
    cuts = {
        name: [0, *sorted(chance.randint(0, tuples.height) for _ in range(trains - 1)), tuples.height]
        for name, tuples in frames.items()
    }
    for i in range(trains):
        step = {}
        for name, stream in sources.items():
            begin, end = cuts[name][i : i + 2]
            rest = frames[name].slice(end)[stream.time].cast(pl.Int64).drop_nulls()
            through = BEGIN
            if len(rest) and chance.random() < 0.5:
                through = min(rest.to_list()) - 1
            step[name] = Train(frames[name].slice(begin, end - begin), END if i + 1 == trains else through)
        yield step


def _ordered_view(tuples: Tuples, stream: Stream) -> Any:
    """What must be equal: the list, or where only groups have an order, the list of each group."""
    names = stream.schema.names
    rows = [tuple(_comparable(values[name]) for name in names) for values in tuples]
    if not stream.keyed_by:
        return rows
    places = [names.index(key) for key in stream.keyed_by]
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[place] for place in places), []).append(row)
    return groups


def _comparable(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _shown(tuples: Tuples) -> str:
    return "\n".join(f"    {dict(values)}" for values in tuples[:50]) or "    nothing"
