"""Levels under a steering record: drops that a replay repeats, queues that change no answer, taps of what passes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl
import pytest

import arterial as art
from arterial.engine.host.inprocess import InProcess
from arterial.engine.host.queue import CHUNK_ROWS, Queue
from arterial.engine.steering.arcs import arcs_of, check_drop, check_hold, find_arc
from arterial.errors import RunError
from arterial.figures.steering import Drop, Steering, Tap
from arterial.network.box import Stream
from arterial.network.network import NetworkValue
from arterial.network.schema import Schema
from arterial.network.state import MemoryState, State
from arterial.network.train import BEGIN, END, Train

COLUMNS = {"time": "int64", "k": "int64", "x": "int64"}
SCHEMA = Schema.of(COLUMNS)


def _keyed() -> NetworkValue:
    net = art.Network("keyed")
    fast = net.source("s", COLUMNS).filter("f", "x > 1")
    fast.group_by("k").tumble("t", every=5, n="count(*)").output("o")
    fast.output("raw")
    return net.value


def _ordered() -> NetworkValue:
    net = art.Network("ordered")
    net.source("s", COLUMNS).map("m", time="time", y="x + 1").tumble("t", every=3, n="sum(y)").output("o")
    return net.value


def _joined() -> NetworkValue:
    net = art.Network("joined")
    source = net.source("s", COLUMNS)
    left = source.filter("low", "x < 5").group_by("k")
    right = source.filter("high", "x >= 5").group_by("k")
    left.join("j", right, on="left.x < right.x", within=3).output("o")
    return net.value


NETWORKS: dict[str, Callable[[], NetworkValue]] = {"keyed": _keyed, "ordered": _ordered, "joined": _joined}


def _tuples(rows: int = 200, seed: int = 1) -> pl.DataFrame:
    chance = random.Random(seed)
    times = sorted(chance.randrange(60) for _ in range(rows))
    return pl.DataFrame(
        {"time": times, "k": [chance.randrange(5) for _ in times], "x": [chance.randrange(9) for _ in times]},
        SCHEMA.polars(),
    )


def _trains(cuts: int, seed: int = 0) -> Iterator[dict[str, Train]]:
    tuples = _tuples()
    times = sorted(random.Random(seed).sample(range(60), cuts))
    before = -1
    for at in [*times, END]:
        part = tuples.filter((pl.col("time") > before) & (pl.col("time") <= at))
        yield {"s": Train(part, at)}
        before = at


def _gathered(outputs: list[dict[str, Train]]) -> dict[str, list[tuple[object, ...]]]:
    names = outputs[0]
    return {name: sorted(row for step in outputs for row in step[name].tuples.rows()) for name in names}


@pytest.mark.thorough
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("kind", NETWORKS)
def test_holding_in_any_cut_changes_no_answer(kind: str, shards: int) -> None:
    network = NETWORKS[kind]()
    plain = InProcess(network, shards=shards, ordered_sources=["s"])
    expected = _gathered([plain.step(trains) for trains in _trains(12)])
    facts = arcs_of(plain.plan)
    holdable = [arc for arc, fact in facts.items() if fact.no_hold is None]
    assert len(holdable) >= 2
    chance = random.Random(shards)
    for arc in holdable:
        host = InProcess(network, shards=shards, ordered_sources=["s"])
        outputs, most = [], 0
        *steps, last = _trains(12, seed=7)
        for trains in steps:
            hold = {arc: chance.choice([0, 0, 1, 5, 40])} if chance.random() < 0.9 else {}
            outputs.append(host.step(trains, Steering(hold=hold)))
            most = max(most, _held(host, arc))
            if chance.random() < 0.3:
                host.restart()
        nothing = {"s": Train(SCHEMA.empty(), trains["s"].through)}
        while _held(host, arc):
            outputs.append(host.step(nothing, Steering(hold={arc: 7})))
        outputs.append(host.step(last))
        assert _held(host, arc) == 0, arc
        assert most > 0, arc
        assert _gathered(outputs) == expected, arc
        assert all(train.through == END for train in outputs[-1].values()), arc


def test_completeness_waits_with_the_queue() -> None:
    host = InProcess(_ordered(), ordered_sources=["s"])
    arc = "m.out → t.in"
    trains = list(_trains(12))
    first = host.step(trains[0])["o"].through
    for step in trains[1:-1]:
        out = host.step(step, Steering(hold={arc: 0}))["o"]
        assert (len(out), out.through < END) == (0, True)
    assert out.through >= first
    assert host.step(trains[-1])["o"].through == END


def _held(host: InProcess, arc: str) -> int:
    return sum(passed.held.get(arc, 0) for passed in host.passed)


def _shed(host: InProcess, arc: str) -> int:
    return sum(passed.shed.get(arc, 0) for passed in host.passed)


@pytest.mark.thorough
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("arc", ["s.out → f.in", "f.out → by_k.in", "by_k.out → t.in", "f.out → raw.in"])
def test_a_replay_sheds_the_same_tuples(arc: str, shards: int) -> None:
    steering = Steering(shed={arc: Drop(0.4, seed=3, overflow=True)})

    def run() -> tuple[list[pl.DataFrame], list[int], list[pl.DataFrame]]:
        host = InProcess(_keyed(), shards=shards, ordered_sources=["s"])
        delivered, counts, kept = [], [], []
        for trains in _trains(12):
            delivered += [train.tuples for train in host.step(trains, steering).values()]
            counts.append(_shed(host, arc))
            kept += [frame for passed in host.passed for frame in passed.overflow.get(arc, [])]
        return delivered, counts, kept

    first, again = run(), run()
    assert all(one.equals(other) for one, other in zip(first[0], again[0], strict=True))
    assert first[1] == again[1]
    whole = InProcess(_keyed(), shards=shards, ordered_sources=["s"])
    for trains in _trains(12):
        whole.step(trains)
    box, port = arc.partition(" → ")[2].split(".")
    came = whole.counts[box].tuples_in[port]
    assert 0.25 < sum(first[1]) / came < 0.55
    assert sum(frame.height for frame in first[2]) == sum(first[1])
    other = Steering(shed={arc: Drop(0.4, seed=4)})
    host = InProcess(_keyed(), shards=shards, ordered_sources=["s"])
    assert any(
        not one.equals(train.tuples)
        for one, train in zip(
            first[0], [t for step in _trains(12) for t in host.step(step, other).values()], strict=True
        )
    )


def test_a_predicate_keeps_what_is_valued() -> None:
    host = InProcess(_keyed(), ordered_sources=["s"])
    steering = Steering(shed={"f.out → raw.in": Drop(keep="x >= 7")})
    kept = [host.step(trains, steering)["raw"].tuples["x"] for trains in _trains(12)]
    assert min(values.min() for values in kept if len(values)) == 7  # type: ignore[type-var]
    assert sum(map(len, kept)) == _tuples().filter(pl.col("x") >= 7).height


def test_a_tap_shows_what_passes() -> None:
    host = InProcess(_keyed(), ordered_sources=["s"])
    taps = {"all": Tap("f.out → raw.in", limit=10**6), "few": Tap("f.out → raw.in", "x = 8", 2), "none": Tap("gone")}
    seen: dict[str, list[pl.DataFrame]] = {"all": [], "few": []}
    out = []
    for trains in _trains(12):
        out.append(host.step(trains, Steering(tap=taps, shed={"f.out → raw.in": Drop(0.5)}))["raw"].tuples)
        for passed in host.passed:
            for name, frames in passed.tapped.items():
                seen[name] += frames
                assert name == "all" or sum(frame.height for frame in frames) <= 2
    assert pl.concat(seen["all"]).equals(pl.concat(out))
    assert set(pl.concat(seen["few"])["x"]) == {8}


def test_a_queue_gives_whole_instants_oldest_first() -> None:
    stream = Stream(SCHEMA, "time")
    state = MemoryState()
    tuples = pl.DataFrame({"time": [1, 1, 2, 2, 2, 3], "k": range(6), "x": 0}, SCHEMA.polars())
    queue = Queue(state, stream)
    queue.append(Train(tuples.head(3), 2), 10.0)
    queue.append(Train(tuples.slice(3), 3), 11.0)
    queue.save()
    assert (len(queue), queue.oldest, queue.through(3)) == (6, 10.0, 0)
    queue = Queue(state, stream)
    assert queue.take(1)["k"].to_list() == [0, 1]
    assert queue.take(1)["k"].to_list() == [2, 3, 4]
    assert queue.through(5) == 2
    queue.save()
    queue = Queue(state, stream)
    assert queue.take(9)["k"].to_list() == [5]
    assert queue.through(5) == 5
    queue.save()
    assert not state.chunks


def test_appending_to_a_long_queue_rewrites_nothing() -> None:
    stream, state = Stream(SCHEMA, "time"), MemoryState()
    for n in range(20):
        train = Train(pl.DataFrame({"time": [n] * 5000, "k": 0, "x": 0}, SCHEMA.polars()), n)
        state.touched.clear()
        queue = Queue(state, stream)
        queue.append(train, float(n))
        queue.save()
        assert len(state.touched) == 2
    assert max(chunk.height for chunk in state.chunks.values() if isinstance(chunk, pl.DataFrame)) <= CHUNK_ROWS
    unordered = Queue(MemoryState(), Stream(SCHEMA, "time", ordered=False))
    unordered.append(train, 0.0)
    assert (len(unordered.take(10)), unordered.through(END)) == (10, BEGIN)


def test_what_may_not_be_done_is_said_when_it_is_asked_for() -> None:
    host = InProcess(_keyed(), ordered_sources=["s"])
    facts = arcs_of(host.plan)
    with pytest.raises(RunError, match="cannot be held: box 'f' runs where the source is read"):
        check_hold(find_arc("f", facts), 0)
    with pytest.raises(RunError, match="from 0 to 1"):
        check_drop(find_arc("f", facts), Drop(1.5))
    with pytest.raises(RunError, match="its columns are: time int64, k int64, x int64"):
        check_drop(find_arc("f", facts), Drop(keep="speed > 3"))
    assert find_arc("by_k -> t", facts).name == "by_k.out → t.in"
    assert find_arc("t.in", facts).name == "by_k.out → t.in"
    assert find_arc("s", facts).name == "s.out → f.in"
    with pytest.raises(RunError, match=r"any of these arcs: f.out → by_k.in; f.out → raw.in"):
        find_arc("f.out", facts)
    with pytest.raises(RunError, match=r"Near ones: .*f.out → raw.in"):
        find_arc("row", facts)
    net = art.Network("signed")
    net.source("s", COLUMNS).latest("l", "k").filter("g", "x > 1").output("o")
    signed = arcs_of(InProcess(net.value, ordered_sources=["s"]).plan)
    assert signed["s.out → l.in"].no_shed is None
    with pytest.raises(RunError, match="signed stream, whose changes belong together"):
        check_drop(find_arc("g", signed), Drop(0.1))


@dataclass(frozen=True)
class Counter(art.Box):
    """Numbers the tuples of each group, so it needs each group whole."""

    kind: ClassVar[str] = "test_arc_steering.counter"
    thinnable_by_group: ClassVar[frozenset[str]] = frozenset({"in"})

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        return {"out": trains["in"]}


def test_where_no_tuple_may_go_whole_groups_may() -> None:
    net = art.Network("groups")
    net.source("s", COLUMNS).filter("f", "x >= 0").group_by("k").box(Counter("c")).output("o")
    facts = arcs_of(InProcess(net.value, ordered_sources=["s"]).plan)
    assert facts["f.out → by_k.in"].groups == ("k",)
    check_drop(facts["f.out → by_k.in"], Drop(0.5, by=("k",)))
    with pytest.raises(
        RunError, match=r"no single tuples may be left out.*Whole groups of k may be left out \(--by k\)"
    ):
        check_drop(facts["f.out → by_k.in"], Drop(0.5))
    with pytest.raises(RunError, match="no single tuples"):
        check_drop(facts["f.out → by_k.in"], Drop(0.5, by=("x",)))
    with pytest.raises(RunError, match="there is no column 'z'; its columns are: time, k, x"):
        check_drop(facts["c.out → o.in"], Drop(0.5, by=("z",)))
    for shards in (1, 3):
        host = InProcess(net.value, shards=shards, ordered_sources=["s"])
        steering = Steering.from_json(Steering(shed={"s.out → f.in": Drop(0.5, by=("k",))}).as_json())
        kept, gone = set(), 0
        for train in _trains(5):
            kept |= set(host.step(train, steering)["o"].tuples["k"].to_list())
            gone += _shed(host, "s.out → f.in")
        every = _tuples().filter(pl.col("x") >= 0)
        assert 0 < len(kept) < every["k"].n_unique()
        assert gone == _tuples().filter(~pl.col("k").is_in(kept)).height


def test_what_it_takes_to_read_a_source_is_its_cost() -> None:
    def slowly() -> Iterator[Train]:
        for train in _trains(3):
            time.sleep(0.01)
            yield train["s"]

    host = InProcess(_ordered(), ordered_sources=["s"])
    outcomes = host.step_by_slot({"s": [slowly()]})
    assert sum(outcome.counts["s"].seconds for level in outcomes for outcome in level if "s" in outcome.counts) >= 0.03
