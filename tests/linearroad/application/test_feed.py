"""The feeds of a data set: every tuple of every replica once, by slot or in pieces, a few seconds at a time."""

from __future__ import annotations

import math
import random
from pathlib import Path

import polars as pl
import pytest

from arterial.connectors.pace import Pace
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.linearroad.application import originals
from arterial.linearroad.application.feed import FIRST_SIZE, LARGEST_SIZE, REPORT_SCHEMA, REQUEST_SCHEMA, ROAD_KEY
from arterial.linearroad.application.inputs import StoredInput
from arterial.linearroad.formats.line_writer import event_lines
from arterial.network.keys.left_out import LeftOut
from arterial.network.keys.slots import slots
from arterial.network.train import BEGIN, END, Train
from tests.linearroad.cities import generate

SECONDS = 300


@pytest.fixture(scope="module", params=[1, 3])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoredInput:
    folder = tmp_path_factory.mktemp("stored")
    (folder / "city.csv").write_bytes(b"".join(event_lines(generate(5).table())))
    return StoredInput(
        folder / "city.csv",
        work=folder,
        rejects=folder / "rejects.csv",
        begin=0,
        until=SECONDS,
        times=request.param,
        disorder=0,
    )


@pytest.fixture
def feeds(stored: StoredInput, tmp_path: Path) -> dict[str, Source]:
    feeds = stored.feeds(Pace(0, math.inf, path=tmp_path / "clock.json"), 0)
    return {name: feed.bind(name, REPORT_SCHEMA, "time", tmp_path) for name, feed in feeds.items()}


def wanted(stored: StoredInput, kind: str) -> pl.DataFrame:
    """All tuples, in no particular order."""
    events = pl.DataFrame(pl.from_arrow(stored.replication.events(stored.data.read(0, SECONDS))))
    names = (REPORT_SCHEMA if kind == "reports" else REQUEST_SCHEMA).names
    return events.filter((pl.col("type") == 0) == (kind == "reports")).select(names)


def span(start: int, stop: int) -> Span:
    def at(second: int) -> Progress:
        return Progress({"second": second}, END if second == SECONDS else second - 1 if second else BEGIN)

    return Span(at(start), at(stop))


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    return one.sort(one.columns).equals(other.select(one.columns).sort(one.columns))


@pytest.mark.parametrize("most", [1, 40, 10**6])
def test_each_slot_gets_its_roads_in_short_trains(
    stored: StoredInput, feeds: dict[str, Source], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(originals, "FEW", most)
    every = wanted(stored, "reports")
    assert every.height > 50
    for slot in range(3):
        part = Part(slot, 3, ROAD_KEY)
        trains = list(feeds["reports"].read_trains(span(0, SECONDS), part))
        found = pl.concat([train.tuples for train in trains])
        assert found["time"].is_sorted()
        assert same(found, every.filter(pl.Series(slots(every, ROAD_KEY, 3) == slot)))
        _follow_each_other(trains)
        for train in trains:
            assert len(train) <= most or train.tuples["time"].n_unique() == 1
        assert (len(trains) == 1) == (most > len(found))
        whole = feeds["reports"].read(*(getattr(span(0, SECONDS), end) for end in ("before", "after")), part)
        assert same(whole, found)


def _follow_each_other(trains: list[Train]) -> None:
    """Each train has what lies between the one before it and its own end, and the last is the end of all."""
    before = BEGIN
    for train in trains:
        assert before < train.through
        if len(train):
            assert train.tuples["time"].min() > before
            assert train.tuples["time"].max() <= train.through
        before = train.through
    assert before == END


@pytest.mark.parametrize("kind", ["reports", "requests"])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_pieces_put_together_are_the_sequence(
    stored: StoredInput, feeds: dict[str, Source], kind: str, parts: int
) -> None:
    pieces = []
    for start, stop in ((0, 100), (100, 101), (101, SECONDS)):
        for part in range(parts):
            (train,) = feeds[kind].read_trains(span(start, stop), Part(part, parts))
            assert train.through == span(start, stop).after.through
            pieces.append(train.tuples)
    sequence = pl.concat(pieces)
    assert sequence["time"].is_sorted()
    assert same(sequence, wanted(stored, kind))


def test_a_step_that_reads_nothing_is_an_empty_train(feeds: dict[str, Source]) -> None:
    for kind, part in (("reports", Part(0, 2, ROAD_KEY)), ("reports", Part(1, 2)), ("requests", Part(1, 2))):
        (train,) = feeds[kind].read_trains(span(7, 7), part)
        assert (len(train), train.through) == (0, 6)


def test_steps_grow_while_they_are_short_and_shrink_when_they_are_long(feeds: dict[str, Source]) -> None:
    def next_size(size: int, seconds: float) -> int:
        at = Progress({"second": 1, "warm up": 0, "at": 100.0, "size": size}, 0)
        return int(feeds["reports"].plan(at, Ask(100.0 + seconds, 10**9)).position["size"])

    assert [next_size(100_000, seconds) for seconds in (0.2, 1.0, 2.5, 4.0)] == [400_000, 200_000, 100_000, 50_000]
    assert next_size(FIRST_SIZE, 60.0) == FIRST_SIZE
    assert next_size(LARGEST_SIZE, 0.1) == LARGEST_SIZE


def test_plans_cover_every_second_once(stored: StoredInput, feeds: dict[str, Source]) -> None:
    rng = random.Random(3)
    before, now, seconds = feeds["reports"].begin(), 0.0, []
    while before.through != END:
        now += rng.random()
        after = feeds["reports"].plan(before, Ask(now, rng.choice((1, 30, 10_000))))
        seconds += range(before.position["second"], after.position["second"])
        before = after
    assert seconds == list(range(SECONDS))


def test_roads_that_are_left_out_are_counted_and_not_read(stored: StoredInput, feeds: dict[str, Source]) -> None:
    feed, every = feeds["reports"], wanted(stored, "reports")
    assert feed.skips(ROAD_KEY)
    assert not feed.skips(("vid",))
    for share in (0.3, 0.7):
        without = LeftOut(ROAD_KEY, share, seed=1)
        stays = pl.Series(without.stays(every))
        for slot in range(2):
            part = Part(slot, 2, ROAD_KEY, without)
            mine = pl.Series(slots(every, ROAD_KEY, 2) == slot)
            found = pl.concat([train.tuples for train in feed.read_trains(span(0, SECONDS), part)])
            assert same(found, every.filter(mine & stays))
            assert feed.skipped(span(0, SECONDS), part) == (mine & ~stays).sum()


def test_each_feed_knows_what_waits_of_its_own(stored: StoredInput, tmp_path: Path) -> None:
    pace = Pace(0, 1.0, path=tmp_path / "clock.json")
    pace.start(at=1000.0)
    at = Progress({"second": 100, "warm up": 0, "at": 0.0, "size": 0}, 99)
    for name, feed in stored.feeds(pace, 0).items():
        bound = feed.bind(name, REPORT_SCHEMA, "time", tmp_path)
        due = wanted(stored, name).filter(pl.col("time").is_between(100, 150))
        assert bound.waiting(at, 1150.0) == due.height
