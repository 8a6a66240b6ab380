"""The application writes what a run in one process writes, byte for byte, in trains of any size and after restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from arterial.connectors.pace import MAX, Pace
from arterial.connectors.source import Ask, Part
from arterial.errors import DataError, RunError
from arterial.moving.application.feed import EventFeed
from arterial.moving.application.network import QueryOptions
from arterial.moving.application.prepare import OBJECTS, prepare
from arterial.moving.files.run import run_file
from arterial.moving.queries.space import Space
from arterial.network.train import END
from tests.moving.application.hosting import opened_sink, run_in_process
from tests.moving.files.test_run import line
from tests.moving.worlds import random_world


def write_world(path: Path, seed: int, space: Space = Space.PLANE, units: int = 30) -> None:
    lines = [line(event) for _, unit in random_world(seed, space=space, units=units) for event in unit]
    path.write_text("".join(one + "\n" for one in lines))


def compare(tmp_path: Path, options: QueryOptions, train_size: int, shards: int = 1) -> None:
    events, out, expected = (tmp_path / name for name in ("events.csv", "out.csv", "expected.csv"))
    summary = run_file(
        events,
        expected,
        rejects=tmp_path / "expected.csv.rejects.csv",
        space=options.space,
        timeout=options.timeout,
        cache=options.cache,
        longest_step=options.longest_step,
    )
    ready = run_in_process(events, out, tmp_path / "work", options, train_size=train_size, shards=shards)
    assert out.read_bytes() == expected.read_bytes()
    rejects = [path.with_name(path.name + ".rejects.csv") for path in (out, expected)]
    assert rejects[0].exists() == rejects[1].exists()
    if rejects[0].exists():
        assert rejects[0].read_bytes() == rejects[1].read_bytes()
    for name in ("lines", "reports", "queries", "rejects", "time_units", "objects_at_end", "queries_at_end"):
        assert getattr(ready, name) == getattr(summary, name), name


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("train_size", [1, 60, 10_000])
def test_the_updates_are_the_same(tmp_path: Path, seed: int, train_size: int) -> None:
    space = list(Space)[seed % 2]
    write_world(tmp_path / "events.csv", seed, space)
    compare(tmp_path, QueryOptions(space, timeout=[None, 3.0, 4.5][seed % 3]), train_size)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_so_they_are_in_several_shards(tmp_path: Path, seed: int) -> None:
    space = list(Space)[seed % 2]
    write_world(tmp_path / "events.csv", seed, space)
    compare(tmp_path, QueryOptions(space), [60, 10_000][seed // 2], shards=2 + seed % 2)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
def test_so_they_are_with_a_smaller_cache(tmp_path: Path, seed: int) -> None:
    write_world(tmp_path / "events.csv", seed)
    compare(tmp_path, QueryOptions(timeout=4.0, cache=30.0), 60)


def test_fractions_of_time_numbers_as_ids_and_lines_that_are_no_events(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(
        "-1.5,object,7,0,0\n-1.5,drop,q\n0,object,8,1,1\n0.1,movingknn,q,1,7\nrubbish\n0.1,object,9,0.5,0\n"
        "0.1,object,7,0,0\n0.3,drop,x\n"
        "0.300001,object,7,3,3\n0.2,object,7,9,9\n1e3,drop,q\n"
    )
    compare(tmp_path, QueryOptions(timeout=0.2), 1)
    assert (tmp_path / "out.csv").read_text() == "0.1,q,+,9\n0.300001,q,-,9\n"


def test_times_that_cannot_be_counted(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("0.1234567891234,object,7,0,0\n")
    with pytest.raises(DataError, match=r"t = 0.1234567891234 has more than nine decimals"):
        prepare(tmp_path / "events.csv", tmp_path / "x", rejects=tmp_path / "r", space=Space.PLANE, timeout=None)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("\n")
    compare(tmp_path, QueryOptions(), 1)


def test_instants_come_when_they_are_due(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("".join(f"{t},object,{i},0,0\n" for t in (5, 6, 8.5) for i in range(3)))
    ready = prepare(tmp_path / "events.csv", tmp_path / "x", rejects=tmp_path / "r", space=Space.PLANE, timeout=None)
    pace = Pace(int(ready.index()[0][0]), 2.0, ready.ticks, tmp_path / "clock.json")
    assert (ready.ticks, pace.begin) == (10, 50)
    feed = EventFeed(ready, OBJECTS, pace, warm_up=1)
    begin = feed.begin()
    warm = feed.plan(begin, Ask(0.0, 100))
    assert feed.read(begin, warm, Part(0, 1)).is_empty()
    started = pace.due(50)
    first = feed.plan(warm, Ask(started, 100))
    assert feed.read(warm, first, Part(0, 1))["t"].to_list() == [50] * 3
    assert feed.plan(first, Ask(started + 0.4, 100)) == first
    assert feed.waiting(first, started + 0.6) == 3
    last = feed.plan(first, Ask(started + 1.75, 4))
    assert (last.position["instant"], last.through) == (2, 60)
    last = feed.plan(last, Ask(started + 1.75, 4))
    assert last.through == END
    assert EventFeed(ready, OBJECTS, Pace(50, MAX, 10)).waiting(first, 0.0) is None


def test_a_file_of_updates_that_was_cut(tmp_path: Path) -> None:
    write_world(tmp_path / "events.csv", 1)
    run_in_process(tmp_path / "events.csv", tmp_path / "out.csv", tmp_path / "work", QueryOptions(), train_size=60)
    (tmp_path / "out.csv").write_text("")
    with pytest.raises(RunError, match="shorter than the run left it"):
        opened_sink(tmp_path / "out.csv", tmp_path / "work", Pace(0, MAX))
