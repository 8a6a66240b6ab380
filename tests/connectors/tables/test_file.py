"""Loaded relations: complete before the first tuple, looked at again, the same on replay."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import arterial as art
from arterial.connectors.source import Ask, Part, Progress
from arterial.errors import DataError, NetworkError
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END

PLACES = {"place": str, "zone": int}
SCHEMA = Schema.of({"place": str, "deleted": bool, "zone": int, "loaded": int})


def network() -> art.Network:
    net = art.Network("rooms")
    places = net.loaded_relation("places", PLACES, key="place")
    reports = net.source("reports", {"time": int, "place": str})
    reports.group_by("place").read_relation("placed", places).output("out")
    return net


REPORTS = [{"time": t, "place": place} for t, place in ((-5, "a"), (1, "b"), (2, "c"), (9, "a"))]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet", "arrow", "frame", "list"])
def test_rows_hold_from_the_beginning_of_time(tmp_path: Path, kind: str) -> None:
    rows = pl.DataFrame({"place": ["a", "b"], "zone": [1, 2]})
    given: Any = {"frame": rows, "list": rows.to_dicts()}.get(kind, tmp_path / f"places.{kind}")
    if kind == "csv":
        rows.write_csv(given)
    elif kind == "csv.gz":
        given.write_bytes(gzip.compress(rows.write_csv().encode()))
    elif kind in ("parquet", "arrow", "jsonl"):
        {"parquet": rows.write_parquet, "arrow": rows.write_ipc, "jsonl": rows.write_ndjson}[kind](given)
    out = art.collect(network(), reports=REPORTS, places=given)["out"].sort("time")
    assert out["zone"].to_list() == [1, 2, None, 1]


def test_the_streams_of_timestamps(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("place,zone\na,1\n")
    net = art.Network("rooms")
    places = net.loaded_relation("places", PLACES, key="place", time="timestamp")
    reports = net.source("reports", {"time": "timestamp", "place": str})
    reports.group_by("place").read_relation("placed", places).output("out")
    frame = pl.DataFrame({"time": pl.Series([0, -(10**15)]).cast(pl.Datetime("us")), "place": ["a", "a"]}).sort("time")
    assert art.collect(net, reports=frame, places=tmp_path / "places.csv")["out"]["zone"].to_list() == [1, 1]


def bound(path: Path, folder: Path, refresh: Any = "10 s") -> art.TableSource:
    return art.FileTable(path=path, refresh=refresh).bind("places", SCHEMA, "loaded", folder)


def all_of(source: art.TableSource, before: Progress, after: Progress) -> list[tuple[Any, ...]]:
    return sorted(row for i in range(3) for row in source.read(before, after, Part(i, 3)).rows())


def test_a_change_holds_from_the_first_instant_that_was_not_read(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("place,zone\na,1\nb,2\nc,3\n")
    source = bound(path, tmp_path)
    steps = [source.begin()]
    steps.append(source.plan(steps[-1], Ask(100.0, 10, BEGIN)))
    assert [row[:3] for row in all_of(source, *steps)] == [("a", False, 1), ("b", False, 2), ("c", False, 3)]
    steps.append(source.plan(steps[-1], Ask(101.0, 10, 50)))
    assert (steps[-1].through, all_of(source, *steps[-2:])) == (50, [])
    path.write_text("place,zone\na,1\nb,7\nd,4\n")
    assert source.plan(steps[-1], Ask(105.0, 10, 50)) == steps[-1]  # it was not looked at yet
    source.look()
    steps.append(source.plan(steps[-1], Ask(111.0, 10, 60)))
    expected = [("b", False, 7, 51), ("c", True, 3, 51), ("d", False, 4, 51)]
    assert (steps[-1].through, all_of(source, *steps[-2:])) == (60, expected)
    path.write_text("place,zone\na,oops\n")  # cannot be read: the old rows hold
    source.look()
    assert source.plan(steps[-1], Ask(130.0, 10, 60)) == steps[-1]
    path.unlink()
    source.look()
    assert source.plan(steps[-1], Ask(150.0, 10, 60)) == steps[-1]
    assert all_of(source, *steps[-2:]) == expected  # a step that is run again loads what it loaded
    path.write_text("place,zone\na,1\nb,7\nd,4\n")
    again = bound(path, tmp_path)
    assert again.plan(steps[-1], Ask(200.0, 10, 60)) == steps[-1]  # written again, and the same
    assert again.plan(steps[-1], Ask(300.0, 10, END)).through == END


class Waits(art.MemorySource):
    """Three trains of which the second comes when the table was written again and has been looked at."""

    def __init__(self, trains: list[art.Train], rewrite: Callable[[], None], looked: Callable[[], bool]) -> None:
        super().__init__(trains)
        self.rewrite, self.looked, self.wrote = rewrite, looked, False

    def plan(self, before: Progress, ask: Ask) -> Progress:
        if before.position["train"] == 1:
            if not self.wrote:
                self.rewrite()
                self.wrote = True
            if not self.looked():
                return before
        return super().plan(before, ask)


TRAINS = [art.Train(pl.DataFrame({"time": [t], "place": ["a"]}), t) for t in (1, 2, 3)]


def test_a_step_without_a_change_reads_no_file(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("place,zone\na,1\n")
    source = bound(path, tmp_path)
    first = source.plan(source.begin(), Ask(100.0, 10, 5))
    second = source.plan(first, Ask(101.0, 10, 50))
    for kept in (tmp_path / "sources" / "places").iterdir():
        kept.unlink()
    assert all_of(source, first, second) == []


def test_a_run_sees_the_change(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("place,zone\na,1\n")
    looks: list[int] = []

    class Counted(art.FileTable):
        def load(self, schema: Schema) -> pl.DataFrame:
            rows = super().load(schema)
            looks.extend(rows["zone"])
            return rows

        def mark(self) -> object:
            looks.append(-1)
            return super().mark()

    # The third look at the mark after the rows were read is that of the next round: the new rows are kept by then.
    reports = Waits(TRAINS, lambda: put(path, "place,zone\na,22\n"), lambda: 22 in looks and looks[-2:] == [-1, -1])
    out = art.collect(network(), reports=reports, places=Counted(path=path, refresh="1 ms"))["out"]
    assert out.sort("time")["zone"].to_list() == [1, 22, 22]


def put(path: Path, text: str) -> None:
    (path.parent / "draft").write_text(text)
    (path.parent / "draft").replace(path)


def test_a_look_that_fails_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "places.csv"
    path.write_text("place,zone\na,1\n")

    def failed() -> bool:
        return "could not be read again" in "".join(said) or bool(said.append(capsys.readouterr().err))

    said: list[str] = []
    reports = Waits(TRAINS, lambda: put(path, "place,zone\na,oops\n"), failed)
    with pytest.warns(UserWarning, match=r"source 'places': \d+ look\(s\) at it failed, .* rows loaded before held"):
        out = art.collect(network(), reports=reports, places=art.FileTable(path, refresh="1 ms"))["out"]
    assert out.sort("time")["zone"].to_list() == [1, 1, 1]
    text = "".join(said) + capsys.readouterr().err
    assert text.count("could not be read again") == 1, "said once, not every millisecond"
    assert "zone is 'oops', expected int64. The rows loaded at " in text


def test_it_says_when_it_can_be_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "places.csv"
    path.write_text("place,zone\na,1\n")
    source = bound(path, tmp_path)
    assert source.notices == ()
    path.unlink()
    source.look()
    source.look()
    path.write_text("place,zone\na,2\n")
    source.look()
    first, second = capsys.readouterr().err.splitlines()
    assert "it could not be read again: " in first
    assert second == "source 'places': it can be read again"
    assert "2 look(s)" in source.notices[0]
    assert source.notices[0].endswith("it was read again since")


def test_old_versions_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    steps = []
    for number in range(6):
        path.write_text(f"place,zone\na,{number}\n")
        if not steps:
            source = bound(path, tmp_path)
            steps.append(source.begin())
        source.look()
        steps.append(source.plan(steps[-1], Ask(0.0, 10, number)))
        assert [row[2] for row in all_of(source, *steps[-2:])] == [number]
    assert len(list((tmp_path / "sources" / "places").glob("version-*"))) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "does not exist"),
        ("place\na\n", "the column 'zone' is missing; it has: place"),
        ("place,zone\na,x\n", "line 2: zone is 'x', expected int64"),
        ("place,zone\na,1\na,2\n", "line 3: the key a comes a second time"),
    ],
)
def test_half_a_table_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "places.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        art.collect(network(), reports=REPORTS, places=tmp_path / "places.csv")


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(NetworkError, match="must not have a column 'loaded'"):
        art.Network("n").loaded_relation("r", {"a": int, "loaded": int}, key="a")
    with pytest.raises(NetworkError, match="expected int or 'timestamp'"):
        art.Network("n").loaded_relation("r", {"a": int, "b": int}, key="a", time=str)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"place": "a", "zone": 1}\n\n{"place": "b", "zone": "x"}\n', "line 3: zone is 'x', expected int64"),
        ('{"place": "a", "zone": 1}\n{"place": "a", "zone": 2}\n', "line 2: the key a comes a second time"),
        ('{"place": "a", "zone": 1}\nnothing\n', "line 2: is not a JSON object"),
    ],
)
def test_half_a_table_of_json_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "places.jsonl").write_text(text)
    with pytest.raises(DataError, match=said):
        art.collect(network(), reports=REPORTS, places=tmp_path / "places.jsonl")


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (["1772323200", "1772323200000", "1772323201"], "line 3: seen is '1772323200000', expected seconds since 1970"),
        (["2026-03-01", "9999-12-31T23:59-01:00"], "line 3: seen is '9999.*', expected a time of the years 1 to 9999"),
        (pl.Series([0, 253_402_300_800_000_000]).cast(pl.Datetime("us")), "row 2: seen is '253402300800000000'"),
    ],
)
def test_times_of_a_table_that_do_not_fit(tmp_path: Path, times: Any, said: str) -> None:
    frame = pl.DataFrame({"place": [str(n) for n in range(len(times))], "seen": times})
    path = tmp_path / ("places.parquet" if isinstance(times, pl.Series) else "places.csv")
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    with pytest.raises(DataError, match=said):
        art.FileTable(path).load(Schema.of({"place": "string", "seen": "timestamp"}))
