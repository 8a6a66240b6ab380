"""Running an event file, end to end, against the answers by definition."""

from __future__ import annotations

from pathlib import Path

import pytest

from arterial.moving.files.run import run_file
from arterial.moving.queries.brute import BruteForce
from arterial.moving.queries.events import (
    Drop,
    Event,
    MovingNearest,
    MovingRange,
    Nearest,
    Query,
    Range,
    Register,
    Report,
    Sign,
    Update,
)
from arterial.moving.queries.ids import parsed_id
from arterial.moving.queries.space import Space
from tests.moving.feeding import Follower
from tests.moving.worlds import random_world


def line(event: Event) -> str:
    match event:
        case Report():
            return f"{event.t},object,{event.object},{event.x},{event.y}"
        case Drop():
            return f"{event.t},drop,{event.name}"
        case Register():
            return f"{event.t},{_query_text(event.name, event.query)}"


def _query_text(name: object, query: Query) -> str:
    match query:
        case Range():
            return f"range,{name},{query.x1},{query.y1},{query.x2},{query.y2}"
        case MovingRange():
            return f"movingrange,{name},{query.focal},{query.xdist},{query.ydist}"
        case Nearest():
            return f"knn,{name},{query.k},{query.x},{query.y}"
        case MovingNearest():
            return f"movingknn,{name},{query.k},{query.focal}"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("timeout", [None, 3.0])
def test_the_updates_of_a_file_build_the_answers(tmp_path: Path, seed: int, timeout: float | None) -> None:
    space = list(Space)[seed % 2]
    world = random_world(seed, space=space)
    events, out = tmp_path / "events.csv", tmp_path / "updates.csv"
    events.write_text("".join(line(event) + "\n" for _, unit in world for event in unit))
    summary = run_file(events, out, rejects=tmp_path / "rejects.csv", space=space, timeout=timeout)
    updates = [_update(text) for text in out.read_text().splitlines()]
    assert summary.updates == len(updates)
    definition, follower = BruteForce(space=space, timeout=timeout), Follower()
    for t, unit in world:
        if unit:
            definition.take(t, unit)
            follower.follow(update for update in updates if update.t == t)
            assert follower.holds(definition.answers())


def test_rejects_are_numbered_and_an_old_file_of_them_goes(tmp_path: Path) -> None:
    events, rejects = tmp_path / "events.csv", tmp_path / "rejects.csv"
    events.write_text("1,object,1,0,0\n1,drop,q\nrubbish\n")
    assert run_file(events, tmp_path / "out.csv", rejects=rejects).rejects == 2
    assert sorted(rejects.read_text().splitlines()) == [
        '2,"no query q is running","1,drop,q"',
        '3,"t must be a number, not \'rubbish\'","rubbish"',
        "line,reason,text",
    ]
    events.write_text("1,object,1,0,0\n")
    assert run_file(events, tmp_path / "out.csv", rejects=rejects).rejects == 0
    assert not rejects.exists()


def _update(text: str) -> Update:
    t, name, sign, identity = text.split(",")
    return Update(float(t), parsed_id(name), Sign(sign), parsed_id(identity))
