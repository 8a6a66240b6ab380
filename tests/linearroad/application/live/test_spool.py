"""The spool of live input: whole seconds, once each, whatever the cuts, crashes and silences."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pyarrow as pa
import pytest

from arterial.connectors.pace import Pace
from arterial.connectors.rejects import read_rejects
from arterial.errors import DataError
from arterial.linearroad.application.live.spool import KEPT_SECONDS, Spool, look, note_position, read_spool
from arterial.linearroad.application.live.spooler import GRACE_SECONDS, Spooler
from arterial.linearroad.data.cleaning import Cleaner


def line(second: int, vid: int) -> str:
    return f"0,{second},{vid},55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1\n"


LINES = [
    *(line(0, 1), line(0, 2), "garbage\n", line(3, 1), line(3, 1), line(3, 2), "0,4,x\n", line(4, 9)),
    *(line(9, 5), line(7, 5), "more garbage\n", line(10, 5), line(10, 6)),
]
GOOD = [(0, 1), (0, 2), (3, 1), (3, 2), (4, 9), (9, 5), (10, 5), (10, 6)]
FAULTY = [3, 5, 7, 10, 11]


def spooler(
    folder: Path,
    *,
    speed: float = math.inf,
    now: list[float] | None = None,
    until: int | None = None,
    disorder: int = 0,
    state: bytes | None = None,
    start_file: Path | None = None,
) -> Spooler:
    pace = Pace(0, speed, path=folder / "clock.json")
    moment = now or [0.0]
    return Spooler(
        Spool(folder / "spool"),
        folder / "rejects.csv",
        pace,
        cleaner=Cleaner(disorder=disorder, file="test"),
        until=until,
        state=state,
        start_file=start_file,
        now=lambda: moment[0],
    )


def pairs(events: pa.Table) -> list[tuple[int, int]]:
    return list(zip(events["time"].to_pylist(), events["vid"].to_pylist(), strict=True))


def check_whole(folder: Path) -> None:
    spool = folder / "spool"
    now = look(spool)
    assert now.end == now.until == 11
    assert [file.first for file in now.files] == [0, *(file.last + 1 for file in now.files[:-1])]
    assert pairs(read_spool(spool, 0, 11)) == GOOD
    assert pairs(read_spool(spool, 3, 10)) == [pair for pair in GOOD if 3 <= pair[0] < 10]
    assert [reject.line for reject in read_rejects(folder / "rejects.csv")] == FAULTY


def test_a_second_is_spooled_when_a_later_one_begins(tmp_path: Path) -> None:
    taking = spooler(tmp_path)
    taking.feed(line(0, 1).encode())
    assert look(tmp_path / "spool").until == 0
    taking.feed(line(5, 1).encode())
    assert look(tmp_path / "spool").until == 5
    taking.finish()
    assert look(tmp_path / "spool").end == 6


@pytest.mark.thorough
def test_whatever_the_cuts_and_crashes_every_line_counts_once(tmp_path: Path) -> None:
    data = "".join(LINES).encode()
    for seed in range(60):
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        for _ in range(rng.randrange(3)):  # crashes
            taking = spooler(folder)
            end = rng.randrange(len(data))
            _feed(taking, data[:end], rng)
        taking = spooler(folder)
        # Sent again from the start, or from the second that the spool reached.
        again = data if rng.random() < 0.5 else _from(taking.spool.until)
        _feed(taking, again, rng)
        taking.finish()
        if again is data:
            check_whole(folder)
        assert pairs(read_spool(folder / "spool", 0, 11)) == GOOD
        assert taking.spool.account.events == len(GOOD)


@pytest.mark.thorough
def test_from_a_state_that_was_kept_nothing_is_sent_twice(tmp_path: Path) -> None:
    """The spool may have come further than the state: then the piece after the state is given again."""
    data = "".join(LINES).encode()
    for seed in range(60):
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        state, at = None, 0
        while at < len(data):
            size = rng.choice((1, 60, 200))
            taking = spooler(folder, state=state)
            taking.feed(data[at : at + size])
            if rng.random() < 0.7:  # else it crashed before the state was kept
                state, at = taking.state(), at + size
        taking = spooler(folder, state=state)
        taking.finish()
        check_whole(folder)


@pytest.mark.thorough
def test_lines_out_of_order_within_the_permitted_disorder(tmp_path: Path) -> None:
    for seed in range(30):
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        times = sorted(rng.randrange(40) for _ in range(60))
        sent = sorted(enumerate(times), key=lambda pair: (pair[1] + rng.uniform(0, 2.9), pair[0]))
        data = "".join(line(second, vid) for vid, second in sent).encode()
        taking = spooler(folder, disorder=3)
        _feed(taking, data[: rng.randrange(len(data))], rng)
        taking = spooler(folder, disorder=3)
        _feed(taking, data, rng)
        taking.finish()
        assert sorted(pairs(_all(folder))) == sorted((s, v) for v, s in enumerate(times))


def test_the_last_second_of_a_silent_sender_is_released_when_its_time_is_over(tmp_path: Path) -> None:
    now = [1000.0]
    taking = spooler(tmp_path, speed=1.0, now=now)
    taking.feed(line(7, 1).encode())
    assert taking.pace.due(7) == 1000.0
    now[0] = 1001.0 + GRACE_SECONDS - 0.01
    taking.check_silence()
    assert look(tmp_path / "spool").until == 7
    now[0] += 0.02
    taking.check_silence()
    assert look(tmp_path / "spool").until == 8
    now[0] += 100
    taking.check_silence()  # seconds of which nothing came stay open
    assert look(tmp_path / "spool").until == 8
    taking.feed((line(7, 2) + line(8, 2)).encode())
    taking.finish()
    assert pairs(_all(tmp_path)) == [(7, 1), (8, 2)]
    late = read_rejects(tmp_path / "rejects.csv")
    assert [(reject.line, reject.reason) for reject in late] == [(2, "time is below that of an earlier line")]


def test_a_sender_who_is_behind_but_not_silent_is_waited_for(tmp_path: Path) -> None:
    now = [0.0]
    taking = spooler(tmp_path, speed=1.0, now=now)
    taking.feed(line(0, 1).encode())
    now[0] = 50.0
    taking.feed(line(1, 1).encode())
    now[0] += 1.2
    taking.check_silence()
    taking.feed(line(1, 2).encode())
    taking.finish()
    assert pairs(_all(tmp_path)) == [(0, 1), (1, 1), (1, 2)]


def test_the_end_of_the_window_ends_the_input(tmp_path: Path) -> None:
    taking = spooler(tmp_path, until=4)
    taking.feed("".join(LINES).encode())
    assert taking.done
    assert pairs(_all(tmp_path)) == [pair for pair in GOOD if pair[0] < 4]


def test_files_behind_all_feeds_are_removed(tmp_path: Path) -> None:
    taking = spooler(tmp_path)
    for second in range(0, 400, 10):
        taking.feed(line(second, 1).encode())
    folder = tmp_path / "spool"
    note_position(folder, "one", 300)
    note_position(folder, "other", 200)
    taking.spool.trim()
    assert look(folder).files[0].first <= 200 - KEPT_SECONDS <= look(folder).files[0].last + 1
    assert taking.spool.ahead == sum(file.events for file in look(folder).files if file.first >= 200)
    note_position(folder, "other", 10**6)
    note_position(folder, "one", 10**6)
    taking.spool.trim()
    assert len(look(folder).files) == 1
    assert Spool(folder).until == 390


def test_a_second_that_is_missing_is_noticed(tmp_path: Path) -> None:
    taking = spooler(tmp_path)
    for second in range(5):
        taking.feed(line(second, 1).encode())
    folder = tmp_path / "spool"
    assert len(pairs(read_spool(folder, 1, 4))) == 3
    with pytest.raises(DataError, match="no second 4 of the seconds 1 to 4"):
        read_spool(folder, 1, 5)
    look(folder).files[2].path.unlink()
    with pytest.raises(DataError, match="no second 2 of the seconds 0 to 3"):
        read_spool(folder, 0, 4)


def _all(folder: Path) -> pa.Table:
    return read_spool(folder / "spool", 0, look(folder / "spool").until)


def _feed(taking: Spooler, data: bytes, rng: random.Random) -> None:
    at = 0
    while at < len(data):
        size = rng.choice((1, 7, 60, 200, 1000))
        taking.feed(data[at : at + size])
        at += size


def _from(second: int) -> bytes:
    for place, text in enumerate(LINES):
        if text.startswith("0,") and text.count(",") == 14 and int(text.split(",")[1]) >= second:
            return "".join(LINES[place:]).encode()
    return b""


def test_the_clock_is_that_of_the_sender_if_it_says_when_it_began(tmp_path: Path) -> None:
    start = tmp_path / "start"
    taking = spooler(tmp_path, speed=1.0, now=[1000.7], start_file=start)
    start.write_text("1000.25\n")
    taking.feed(line(0, 1).encode())
    assert taking.pace.due(0) == 1000.25


@pytest.mark.parametrize("text", [None, "soon"])
def test_a_start_that_cannot_be_read_is_said(tmp_path: Path, text: str | None) -> None:
    start = tmp_path / "start"
    if text is not None:
        start.write_text(text)
    with pytest.raises(DataError, match="start"):
        spooler(tmp_path, speed=1.0, start_file=start).feed(line(0, 1).encode())
