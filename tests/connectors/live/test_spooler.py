"""What connections send, spooled: judged line by line, complete by the slowest, ended only when that is said."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from arterial.connectors.live.lines import LONGEST_LINE, LineFormat
from arterial.connectors.live.spool import Reached, Spool, look, note_reached, read_late, read_rows
from arterial.connectors.live.spooler import Connection, Rules, Spooler
from arterial.connectors.live.spooling import FLUSH_SECONDS, STOPPED
from arterial.connectors.rejects import Reject
from arterial.errors import DataError
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END

SCHEMA = Schema.of({"time": "int64", "x": "int64"})
HEADER = b"time,x\n"


class Taking:
    """A spooler with a clock of its own."""

    def __init__(self, folder: Path, *, disorder: int = 0, form: LineFormat | None = None, **rules: Any) -> None:
        self.folder, self.now = folder / "spool", 0.0
        self.rejects = folder / "rejects.jsonl"
        self.spooler = Spooler(
            Spool(self.folder),
            self.rejects,
            form or LineFormat(SCHEMA),
            "time",
            Rules(**rules),
            disorder=disorder,
            now=lambda: self.now,
        )

    def connect(self, name: str = "one", data: bytes = b"") -> Connection:
        connection = self.spooler.connect(name)
        if data:
            self.feed(connection, data)
        return connection

    def feed(self, connection: Connection, data: bytes) -> bytes:
        answer = self.spooler.feed(connection, data)
        self.pass_time(1.01 * FLUSH_SECONDS)
        return answer

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.spooler.tick()

    @property
    def through(self) -> int:
        return self.spooler.spool.through

    @property
    def complete(self) -> list[tuple[int, int]]:
        """The rows that a run may read."""
        rows = read_rows(self.folder, "time", BEGIN, self.through)
        return [] if rows is None else list(pl.DataFrame(pl.from_arrow(rows)).iter_rows())

    @property
    def late(self) -> list[tuple[int, int]]:
        rows = read_late(self.folder, -1, look(self.folder)[-1].number)
        return [] if rows is None else list(pl.DataFrame(pl.from_arrow(rows)).iter_rows())

    @property
    def aside(self) -> list[tuple[str, int, str]]:
        lines = self.rejects.read_text().splitlines() if self.rejects.exists() else []
        return [(one["file"], one["line"], one["reason"]) for one in map(json.loads, lines)]

    @property
    def message(self) -> str:
        return str(json.loads((self.folder / STOPPED).read_text())["message"])


def test_an_instant_is_complete_when_a_later_one_begins(tmp_path: Path) -> None:
    taking = Taking(tmp_path)
    one = taking.connect(data=HEADER + b"1,10\n1,11\n")
    assert taking.complete == []
    taking.feed(one, b"2,12\n")
    assert taking.complete == [(1, 10), (1, 11)]
    taking.feed(one, b"#end\n")
    assert taking.spooler.done
    assert taking.through == END
    assert taking.complete == [(1, 10), (1, 11), (2, 12)]


@pytest.mark.thorough
def test_whatever_the_cuts_and_crashes_every_line_counts_once(tmp_path: Path) -> None:
    """After a crash the sender sends again from its first line, and what was spooled is passed over."""
    rng = random.Random(7)
    lines = [b"%d,%d\n" % (n // 3, n) if n % 7 else b"bad\n" for n in range(60)]
    data = HEADER + b"".join(lines) + b"#end\n"
    for seed in range(25):
        folder = tmp_path / str(seed)
        for crash in range(3):
            taking = Taking(folder, resend=True)
            one, at = taking.connect(), 0
            end = len(data) if crash == 2 else rng.randrange(len(data))
            while at < end:
                size = min(rng.choice((1, 5, 40, 300)), end - at)
                (taking.feed if rng.random() < 0.5 else taking.spooler.feed)(one, data[at : at + size])
                at += size
        taking.pass_time(1)
        assert taking.spooler.done
        assert [x for _, x in taking.complete] == [n for n in range(60) if n % 7]
        assert [line for _, line, _ in taking.aside] == [n + 2 for n in range(60) if n % 7 == 0]


def test_a_sender_that_is_killed_is_no_end(tmp_path: Path) -> None:
    taking = Taking(tmp_path, wait=30)
    one = taking.connect("127.0.0.1:5", HEADER + b"1,10\n2,69")
    taking.spooler.close(one)
    taking.pass_time(29)
    assert not taking.spooler.done
    taking.pass_time(2)
    assert taking.spooler.done
    assert not taking.spooler.spool.ended
    assert "127.0.0.1:5 closed its connection after 1 line(s) and did not come back within 30 s" in taking.message
    assert taking.aside == [("127.0.0.1:5", 3, "has no end: it may be cut short")]
    # The same command goes on: what was kept is there, and the line that was cut comes again.
    again = Taking(tmp_path)
    again.connect("127.0.0.1:6", HEADER + b"2,690\n#end\n")
    assert again.complete == [(1, 10), (2, 690)]
    assert len(again.aside) == 1


def test_a_sender_that_is_restarted_in_time_goes_on(tmp_path: Path) -> None:
    taking = Taking(tmp_path, wait=30)
    one = taking.connect(data=HEADER + b"1,10\n")
    taking.spooler.close(one)
    taking.pass_time(20)
    two = taking.connect("again", HEADER + b"2,11\n")
    taking.pass_time(20)
    assert not taking.spooler.done
    taking.feed(two, b"#end\r\n")
    assert taking.complete == [(1, 10), (2, 11)]


def test_a_sender_that_says_its_name_hears_how_many_lines_are_known(tmp_path: Path) -> None:
    taking = Taking(tmp_path, senders=2)
    bus = taking.connect()
    assert taking.feed(bus, b"#from bus") == b""
    assert taking.feed(bus, b" 7\n" + HEADER) == b"#have 0\n"
    taking.feed(bus, b"1,10\nbad\n5,1")
    again = Taking(tmp_path, senders=2)
    bus = again.connect()
    assert again.feed(bus, b"#from bus 7\n" + HEADER) == b"#have 2\n"
    again.feed(bus, b"5,11\n#end\n")
    assert not again.spooler.done  # the other one has not come
    again.connect("other", HEADER + b"5,12\n#end\n")
    assert again.complete == [(1, 10), (5, 11), (5, 12)]
    assert again.spooler.account["lines"] == {"bus 7": 3, "": 1}


def test_complete_is_what_all_connections_have_passed(tmp_path: Path) -> None:
    taking = Taking(tmp_path, idle=10)
    fast, slow = taking.connect("fast", HEADER + b"1,1\n"), taking.connect("slow", HEADER + b"1,2\n")
    taking.feed(fast, b"50,3\n")
    assert taking.through == 0
    taking.feed(slow, b"20,4\n")
    assert taking.through == 19
    assert taking.complete == [(1, 1), (1, 2)]
    taking.pass_time(5)
    taking.feed(fast, b"60,5\n")
    taking.pass_time(6)  # the slow one is idle now, and holds nothing up
    assert taking.through == 59
    taking.feed(slow, b"21,6\n70,7\n")
    assert taking.late == [(21, 6)]
    taking.feed(fast, b"#end\n")
    taking.feed(slow, b"#end\n")
    assert taking.complete == [(1, 1), (1, 2), (20, 4), (50, 3), (60, 5), (70, 7)]


@pytest.mark.parametrize("trickle", [b"x", b"\n"])
def test_bytes_that_are_no_lines_hold_up_nobody(tmp_path: Path, trickle: bytes) -> None:
    taking = Taking(tmp_path, idle=10)
    stranger, sender = taking.connect("stranger"), taking.connect("sender", HEADER)
    for time in range(12):
        taking.feed(stranger, trickle)
        taking.feed(sender, b"%d,1\n" % time)
        taking.pass_time(1)
    assert taking.through == 10


def test_declared_senders_are_waited_for(tmp_path: Path) -> None:
    taking = Taking(tmp_path, senders=2, idle=10)
    taking.connect("first", HEADER + b"5,1\n9,2\n#end\n")
    assert taking.through == BEGIN
    taking.connect("second", HEADER + b"1,3\n9,4\n#end\n")
    assert taking.complete == [(1, 3), (5, 1), (9, 2), (9, 4)]
    assert taking.late == []


def test_disorder_is_that_of_a_connection(tmp_path: Path) -> None:
    taking = Taking(tmp_path, disorder=3)
    one = taking.connect(data=HEADER + b"10,1\n8,2\n5,3\n11,4\n")
    assert taking.late == [(5, 3)]
    assert taking.complete == []
    taking.feed(one, b"12,5\n")
    assert (taking.through, taking.complete) == (8, [(8, 2)])


@pytest.mark.parametrize(
    ("rules", "data", "right"),
    [
        ({"count": 3}, b"1,1\nbad\n2,2\n3,3\n", [(1, 1), (2, 2)]),
        ({"until": 3}, b"1,1\n2,2\n2,9\n3,3\n", [(1, 1), (2, 2), (2, 9)]),
        ({"end": "DONE"}, b"1,1\n#end\nDONE\n2,2\n", [(1, 1)]),
    ],
)
def test_other_ends(tmp_path: Path, rules: dict[str, Any], data: bytes, right: list[tuple[int, int]]) -> None:
    taking = Taking(tmp_path, **rules)
    taking.connect(data=HEADER + data)
    assert taking.spooler.spool.ended
    assert taking.complete == right


def test_the_end_of_a_connection_is_the_end_only_if_that_is_said(tmp_path: Path) -> None:
    taking = Taking(tmp_path, eof_ends=True)
    one = taking.connect(data=HEADER + b"1,1\n2,2")
    taking.spooler.close(one)
    taking.pass_time(1)
    assert taking.complete == [(1, 1)]
    assert taking.spooler.account["cut"] == 1


@pytest.mark.parametrize(
    ("rules", "data", "count"),
    [
        ({}, b"x,1\n1,y\n#end\n", 2),
        ({"count": 2}, b"x,1\n1,y\n", 2),
        ({"eof_ends": True}, b"1,1", 1),
        ({"wait": 0.0}, b"x,1\n", 1),
    ],
)
def test_an_input_of_which_nothing_fits_fails(tmp_path: Path, rules: dict[str, Any], data: bytes, count: int) -> None:
    taking = Taking(tmp_path, **rules)
    one = taking.connect(data=HEADER + data)
    taking.spooler.close(one)
    taking.pass_time(1)
    assert not taking.spooler.spool.ended
    assert f"none of the {count} lines read fits its columns (time int64, x int64):\n  one:2: " in taking.message


def test_a_spool_of_an_older_version_did_not_count_the_lines_that_fit(tmp_path: Path) -> None:
    """Many may have fitted before, so it is not said that none does; also after another start."""
    earlier = Taking(tmp_path)
    one = earlier.connect(data=HEADER + b"1,1\n2,2\n")
    del earlier.spooler.account["fitting"]
    earlier.spooler.set_aside([Reject(4, "does not fit", "", "one")])
    earlier.pass_time(1)
    for _ in range(2):
        later = Taking(tmp_path)
        one = later.connect(data=HEADER + b"x,1\n")
        later.pass_time(1)
    later.feed(one, b"#end\n")
    later.pass_time(1)
    assert later.spooler.spool.ended
    assert later.complete == [(1, 1), (2, 2)]


def test_an_input_without_lines_ends(tmp_path: Path) -> None:
    taking = Taking(tmp_path)
    taking.connect(data=HEADER + b"#end\n")
    assert taking.spooler.spool.ended


def test_bad_lines_have_their_connection_and_number(tmp_path: Path) -> None:
    taking = Taking(tmp_path)
    one = taking.connect("one", HEADER + b"1,1\nx,2\n\n1\n")
    taking.connect("two", HEADER + b'"1,1\n3,\xff\n')
    for _ in range(5):
        taking.feed(one, b"9" * (LONGEST_LINE // 3))
    assert taking.spooler.open[0].reader is not None
    assert len(taking.spooler.open[0].reader._rest) == LONGEST_LINE + 1
    taking.feed(one, b"\n4,4\n#end\n")
    assert [(name, line) for name, line, _ in taking.aside] == [
        ("one", 3),
        ("one", 5),
        ("two", 2),
        ("two", 3),
        ("one", 6),
    ]
    assert taking.aside[-1][2] == f"is longer than {LONGEST_LINE:,} bytes"
    assert taking.complete == []  # the other connection has sent nothing that fits yet
    taking.pass_time(11)
    assert taking.complete == [(1, 1)]


def test_json_lines_and_columns(tmp_path: Path) -> None:
    json_taking = Taking(tmp_path / "json")
    json_taking.connect(data=b'{"x": 1, "time": 1, "more": "y"}\n{"time": "a"}\n[]\n#end\n')
    assert json_taking.complete == [(1, 1)]
    assert [line for _, line, _ in json_taking.aside] == [2, 3]
    bare = Taking(tmp_path / "bare", form=LineFormat(SCHEMA, columns="x;time"))
    bare.connect(data=b"5;1\n6;2\n#end\n")
    assert bare.complete == [(1, 5), (2, 6)]


def test_a_header_that_does_not_fit(tmp_path: Path) -> None:
    taking = Taking(tmp_path)
    stranger = taking.spooler.connect("stranger")
    with pytest.raises(DataError, match=r"the column 'time', 'x' is missing; it has: GET / HTTP/1.1"):
        taking.spooler.feed(stranger, b"GET / HTTP/1.1\r\n\r\n")
    taking.spooler.refuse(stranger, DataError("no"))
    taking.connect(data=HEADER + b"1,1\n#end\n")  # a stranger is not waited for
    assert taking.complete == [(1, 1)]


def test_a_full_spool_lets_senders_wait(tmp_path: Path) -> None:
    taking = Taking(tmp_path, size=20_000)
    fast, slow = taking.connect("fast", HEADER + b"1,1\n"), taking.connect("slow", HEADER + b"1,2\n")
    taking.feed(slow, b"4,4\n")
    time = 2
    while taking.spooler.wants(fast):
        taking.feed(fast, b"%d,0\n" % time)
        time += 1
    assert not taking.spooler.wants(slow)  # the run has to read first
    note_reached(taking.folder, "run", Reached(look(taking.folder)[-1].number, taking.through))
    assert taking.spooler.wants(slow)  # it has, and waits for the slow one
    assert not taking.spooler.wants(fast)
    taking.feed(slow, b"%d,9\n" % time)
    note_reached(taking.folder, "run", Reached(look(taking.folder)[-1].number, taking.through))
    taking.pass_time(1)
    assert taking.spooler.wants(fast)
    assert taking.spooler.spool.size < 20_000


def test_a_sender_that_has_to_wait_is_not_idle(tmp_path: Path) -> None:
    taking = Taking(tmp_path, size=20_000, idle=10)
    fast, slow = taking.connect("fast", HEADER + b"1,1\n"), taking.connect("slow", HEADER + b"1,2\n")
    taking.feed(slow, b"2,2\n")
    time = 2
    while taking.spooler.wants(fast):
        taking.feed(fast, b"%d,0\n" % time)
        time += 1
    for _ in range(20):  # the run is paused
        assert not taking.spooler.wants(slow)
        taking.pass_time(1)
    assert taking.through == 1
    taking.feed(slow, b"3,3\n")
    assert taking.spooler.account["late"] == 0


def test_a_full_spool_does_not_wait_for_a_stranger(tmp_path: Path) -> None:
    taking = Taking(tmp_path, size=20_000, idle=10, disorder=1000)
    taking.connect("stranger")
    taking.pass_time(11)
    sender = taking.connect("sender", HEADER)
    time = 1
    while taking.spooler.spool.size <= 20_000:
        taking.feed(sender, b"%d,0\n" % time)
        time += 1
    note_reached(taking.folder, "run", Reached(look(taking.folder)[-1].number, taking.through))
    assert taking.spooler.wants(sender)


def test_a_file_that_is_missing_is_noticed(tmp_path: Path) -> None:
    taking = Taking(tmp_path)
    one = taking.connect(data=HEADER)
    for time in range(6):
        taking.feed(one, b"%d,%d\n" % (time, time))
    files = look(taking.folder)
    note_reached(taking.folder, "run", Reached(files[2].number, 1))
    taking.spooler.spool.trim()
    assert read_rows(taking.folder, "time", 1, 4, files[-1].number) is not None
    with pytest.raises(DataError, match="but 9 was asked for"):
        read_rows(taking.folder, "time", 1, 9)
    files[-2].path.unlink()
    with pytest.raises(DataError, match=f"file {files[-2].number:09d} is missing"):
        read_rows(taking.folder, "time", 1, 4, files[-1].number)


def test_a_file_that_is_listed_late_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a task on another host, whose listing of the folder may be a minute old."""
    spool = Spool(tmp_path)
    for time in (1, 2):
        spool.write(pl.DataFrame({"time": [time]}).to_arrow(), time, low=time, high=time)
    listing, olds = Path.glob, [True]

    def old(folder: Path, pattern: str) -> list[Path]:
        found = sorted(listing(folder, pattern))
        return found[:1] if olds and olds.pop() else found

    monkeypatch.setattr(Path, "glob", old)
    rows = read_rows(tmp_path, "time", BEGIN, 2)
    assert rows is not None
    assert rows["time"].to_pylist() == [1, 2]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".arrow", ".arrow"]
