"""Reading event files: good lines, bad lines, blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from arterial.errors import DataError
from arterial.moving.files import event_file
from arterial.moving.files.event_file import read_events
from arterial.moving.queries.events import Drop, MovingNearest, MovingRange, Nearest, Range, Register
from arterial.moving.queries.space import Space

GOOD = """\
1,object,7,1.5,-2
1,range,r,0,1,2,3
1, movingrange ,m,bus 7,10,20
2,knn,5,3,0,1e3\r

2,movingknn,n,4,7
3.5,object,bus 7,0,0
4,drop,r
"""


def test_every_kind(tmp_path: Path) -> None:
    (path := tmp_path / "events.csv").write_text("\ufeff" + GOOD)
    blocks = list(read_events(path))
    assert [event for block in blocks for _, event in block.queries] == [
        Register(1.0, "r", Range(0.0, 1.0, 2.0, 3.0)),
        Register(1.0, "m", MovingRange("bus 7", 10.0, 20.0)),
        Register(2.0, 5, Nearest(3, 0.0, 1000.0)),
        Register(2.0, "n", MovingNearest(4, 7)),
        Drop(4.0, "r"),
    ]
    reports = [
        row
        for block in blocks
        for row in zip(block.times.tolist(), block.ids.to_list(), block.x.tolist(), block.y.tolist(), strict=True)
    ]
    assert reports == [(1.0, "7", 1.5, -2.0), (3.5, "bus 7", 0.0, 0.0)]
    assert not any(block.rejects for block in blocks)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x,object,1,0,0", "t must be a number"),
        (",object,1,0,0", "t must be a number"),
        ("inf,object,1,0,0", "t must be a number"),
        ("5", "the kind must be one of"),
        ("5,car,1,0,0", "the kind must be one of object, range, movingrange, knn, movingknn, drop, not 'car'"),
        ("5,object,1,0", "object has 5 fields, not 4"),
        ("5,object,1,0,0,0", "object has 5 fields, not 6"),
        ("5,range,1,0,0,0,0,0,0,0", "range has 7 fields, not 8"),
        ("5,object,,0,0", "the id is empty"),
        ("5,object,1,nan,0", "field 4 of object must be a number, not 'nan'"),
        ("5,object,1,0,", "field 5 of object must be a number, not ''"),
        ("5,range,1,0,0,a,0", "field 6 of range must be a number, not 'a'"),
        ("5,knn,1,0,0,0", "k must be a whole number from 1"),
        ("5,knn,1,2.5,0,0", "k must be a whole number from 1"),
        ("5,movingknn,1,3,", "the focal object is empty"),
        ("5,movingrange,1,,3,4", "the focal object is empty"),
        ("5,movingrange,1,2,-3,4", "must not be negative"),
        ("0.5,object,1,0,0", "t goes back from 1.0 to 0.5"),
        ("5,object,\udcff,0,0", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("block_bytes", [16, 1 << 20])
def test_a_bad_line_is_set_aside(tmp_path: Path, line: str, reason: str, block_bytes: int) -> None:
    text = f"1,object,1,0,0\n{line}\n6,object,1,0,0"
    (path := tmp_path / "events.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    blocks = list(read_events(path, block_bytes=block_bytes))
    (reject,) = [reject for block in blocks for reject in block.rejects]
    assert reject.line == 2
    assert reason in reject.reason
    assert sum(len(block.times) for block in blocks) == 2


def test_degrees_are_checked_on_the_sphere_only(tmp_path: Path) -> None:
    (path := tmp_path / "events.csv").write_text("1,object,1,0,91\n1,knn,1,1,-181,0\n1,range,1,0,0,361,5\n")
    assert sum(len(block.rejects) for block in read_events(path, space=Space.LONLAT)) == 3
    assert sum(len(block.rejects) for block in read_events(path)) == 0


@pytest.mark.parametrize("block_bytes", [1, 7, 20, 64, 1000])
def test_a_time_unit_is_never_split(tmp_path: Path, block_bytes: int) -> None:
    (path := tmp_path / "events.csv").write_text("".join(f"{t},object,{i},0,0\n" for t in range(9) for i in range(5)))
    seen = [block.units().tolist() for block in read_events(path, block_bytes=block_bytes)]
    assert [t for units in seen for t in units] == [float(t) for t in range(9)]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(read_events(tmp_path / "none.csv"))


@pytest.mark.parametrize("long", ["0,object,5,1,2" + " " * 9000, "0,drop," + "7" * 9000, "x" * 9000])
def test_a_line_without_an_end_is_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: str
) -> None:
    monkeypatch.setattr(event_file, "LONGEST_LINE", 1000)
    path = tmp_path / "events.csv"
    path.write_text(f"0,object,1,1,1\n{long}\n1,object,2,2,2\n")
    blocks = list(event_file.read_events(path, block_bytes=100))
    assert [name for block in blocks for name in block.ids.to_list()] == ["1", "2"]
    (reject,) = [reject for block in blocks for reject in block.rejects]
    assert reject.line == 2
    assert len(reject.text) < 300
    assert "bytes and more" in reject.text
