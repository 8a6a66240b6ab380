"""The validator reads a history in every form that the run reads (docs/linear-road/history.md)."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from arterial.errors import DataError
from arterial.linearroad.history.lookup import SegmentLookup, TollLookup
from arterial.linearroad.semantics.profiles import SPEC
from arterial.linearroad.validate.expected.history import history_files, matching_tolls, means_by_xway, with_tolls
from arterial.linearroad.validate.expected.journeys import journeys

TOLLS = "1,2,0,17\n1,2,0,19\n1,1,0,5\n2,3,1,8\n"
SEGMENTS = "1,1,0,0,10,40,52,0\n8,1,0,0,10,30,60,5\n"
ASKED = pl.DataFrame({"vid": [1, 1, 2, 9], "day": [2, 1, 3, 1], "xway": [0, 0, 1, 0], "qid": [1, 2, 3, 4]})
JOURNEY = {"sinit": [10], "send": [11], "dow": [1], "tod": [1]}

Forms = Callable[[Path, str, str], Path]


def _text(name: str, header: str = "", pack: Callable[[bytes], bytes] = bytes, *, crlf: bool = False) -> Forms:
    def write(folder: Path, rows: str, names: str) -> Path:
        text = {"": "", "ours": names, "others": _others(names), "quoted": _quoted(names)}[header] + rows
        file = folder / name
        file.write_bytes(pack((text.replace("\n", "\r\n") if crlf else text).encode()))
        return file

    return write


def _parquet(folder: Path, rows: str, names: str) -> Path:
    columns = [name.title() for name in _others(names).strip().split(",")]
    pl.read_csv(rows.encode(), has_header=False, new_columns=columns).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def _folder(folder: Path, rows: str, names: str) -> Path:
    (folder / "history").mkdir()
    for part, line in enumerate(rows.splitlines(keepends=True)):
        (folder / "history" / f"part-{part}.csv.gz").write_bytes(gzip.compress(line.encode()))
    (folder / "history" / "_SUCCESS").touch()
    return folder / "history"


def _others(names: str) -> str:
    """The other usual name of each column that has one."""
    other = {"vid": "vehicle", "xway": "expressway", "tolls": "toll", "minute": "tod", "dir": "direction"}
    other |= {"seg": "segment", "cnt": "count"}
    return ",".join(other.get(name, name) for name in names.strip().split(",")) + "\n"


def _quoted(names: str) -> str:
    return ",".join(f'"{name}"' for name in names.strip().split(",")) + "\n"


FORMS = {
    "plain": _text("rows.csv"),
    "crlf": _text("rows.dat", crlf=True),
    "header": _text("rows.csv", "ours"),
    "other names": _text("rows.csv", "others"),
    "quoted names": _text("rows.csv", "quoted"),
    "gzip": _text("rows.csv.gz", pack=gzip.compress),
    "bzip2 with a header": _text("rows.csv.bz2", "others", pack=bz2.compress),
    "parquet with other names": _parquet,
    "a folder of packed parts": _folder,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_tolls(form: Forms, tmp_path: Path) -> None:
    path = form(tmp_path, TOLLS, "vid,day,xway,tolls\n")
    pieces = [
        matching_tolls(file, ASKED).with_columns(pl.col("order") + (place << 40))
        for place, file in enumerate(history_files(path, "tolls"))
    ]
    found = with_tolls(ASKED, pl.concat(pieces), SPEC).sort("qid")["balance"].to_list()
    theirs, _ = TollLookup.open(path).tolls(*(ASKED[name].to_numpy() for name in ("vid", "day", "xway")))
    assert found == theirs.tolist() == [19, 5, 8, 0]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_segments(form: Forms, tmp_path: Path) -> None:
    path = form(tmp_path, SEGMENTS, "day,minute,xway,dir,seg,lav,cnt,toll\n")
    means = means_by_xway(history_files(path, "segments"), {0})
    found = journeys(pl.DataFrame(JOURNEY), means[0], SPEC).row(0)
    seconds, toll = SegmentLookup.open(path).travel_times(np.zeros(1, np.int64), *map(np.array, JOURNEY.values()))
    assert found == (seconds[0], toll[0]) == (103, 72)


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n", "not a TollHistory (vid, day, xway, tolls): expected 4 fields a line or a header, found 2"),
        ("vid,day,toll\n1,2,3\n", "xway not found. There are: vid, day, toll"),
        ("1,2,0,x\n", "not a TollHistory"),
        ("", "expected rows, found an empty file"),
    ],
)
def test_what_is_no_toll_history(name: str, text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with pytest.raises(DataError) as error:
        matching_tolls(file, ASKED)
    assert str(file) in str(error.value)
    assert said in str(error.value)
