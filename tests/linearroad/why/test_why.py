"""Every explanation gives the very numbers that the validator expects, in cities full of stops and broken trips."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import DataError
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.data.event_files import CITY_FILE, PARQUET_FOLDER
from arterial.linearroad.formats.events import POSITION_REPORT
from arterial.linearroad.reference import Event
from arterial.linearroad.semantics.profiles import SPEC, THESIS2003, WALMART, Profile
from arterial.linearroad.validate.expected.expected import Expectation, expected, travels
from arterial.linearroad.why.explain import why
from arterial.linearroad.why.page import page_of
from arterial.linearroad.why.words import Explained
from tests.linearroad.cities import balance, crowd, expenditure, report, stopped, table_of, travel
from tests.linearroad.jams import jam


def data_set(events: list[Event], folder: Path) -> Data:
    """A data set of these events, in the files of their expressways; requests are in the first."""
    frame = pl.DataFrame(pl.from_arrow(table_of(events)))
    xways = sorted(frame.filter(pl.col("type") == POSITION_REPORT)["xway"].unique().to_list()) or [0]
    (folder / PARQUET_FOLDER).mkdir(parents=True)
    for xway in xways:
        here = pl.col("xway") == xway
        if xway == xways[0]:
            here |= pl.col("type") != POSITION_REPORT
        rows = frame.filter(here).to_arrow().cast(table_of([]).schema)
        pq.write_table(rows, folder / PARQUET_FOLDER / f"xway-{xway}.parquet")
    (folder / CITY_FILE).write_text("{}")
    return Data(folder, folder)


def answers(said: Explained, kind: str) -> list[dict[str, int]]:
    return [one.values for one in said.answers if one.kind == kind]


def check_all(data: Data, right: Expectation, profile: Profile, most: int) -> int:
    """Every notice, alert and balance, up to so many; how many."""
    checked = 0
    for frame, kind, names in (
        (
            right.notices,
            "toll notice",
            {"lav": "lav", "toll": "toll", "cars": "cars", "seg": "seg", "charged": "charged"},
        ),
        (right.alerts, "accident alert", {"nearest": "seg"}),
        (right.balances, "account balance", {"qid": "qid", "result_time": "result_time", "balance": "balance"}),
    ):
        for row in frame.gather_every(max(1, frame.height // most)).iter_rows(named=True):
            said = why(data, row["vid"], row["time"], profile)
            wanted = {new: row[old] for old, new in names.items()}
            got = [{name: one[name] for name in wanted} for one in answers(said, kind)]
            assert wanted in got, (row, str(said))
            checked += 1
    return checked


@pytest.mark.parametrize("profile", [SPEC, WALMART, THESIS2003], ids=lambda one: one.name)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_numbers_are_the_validators(profile: Profile, seed: int, tmp_path: Path) -> None:
    events = jam(seed)
    right = expected(table_of(events), profile=profile)
    assert check_all(data_set(events, tmp_path / "city"), right, profile, most=12) > 10


@pytest.mark.slow
@pytest.mark.parametrize("profile", [SPEC, WALMART, THESIS2003], ids=lambda one: one.name)
@pytest.mark.parametrize("seed", range(10, 16))
def test_all_numbers_are_the_validators(profile: Profile, seed: int, tmp_path: Path) -> None:
    events = jam(seed)
    right = expected(table_of(events), profile=profile)
    assert check_all(data_set(events, tmp_path / "city"), right, profile, most=100_000) > 10


def test_a_toll_is_explained_by_its_rules(tmp_path: Path) -> None:
    mine = [report(90, 1, 2), report(120, 1, 3), report(150, 1, 4)]
    data = data_set([*crowd(55, 70, 3, speed=20), *mine], tmp_path / "city")
    said = why(data, 1, 120)
    (notice,) = answers(said, "toll notice")
    assert notice["toll"] == 2 * (notice["cars"] - 50) ** 2
    assert notice["charged"] == 150
    text = str(said)
    for part in ("rule 5", "rule 6", "rules 1–3", "charged at second 150", "· (55 - 50)² = 50"):
        assert part in text
    assert json.loads(json.dumps(said.as_data()))["answers"][0]["values"] == notice
    assert "Toll notice" in page_of(said).html()


def test_an_accident_is_named_with_its_vehicles(tmp_path: Path) -> None:
    events = [*stopped(101, 0, 4, 5), *stopped(102, 0, 4, 5), report(120, 1, 3), balance(130, 1, 7)]
    data = data_set(events, tmp_path / "city")
    said = why(data, 1, 120)
    assert [one["seg"] for one in answers(said, "accident alert")] == [5]
    assert "vehicles 101 and 102 stood in lane 1" in str(said)
    assert "no toll" in str(said)
    assert answers(why(data, 1, 130), "account balance")[0]["balance"] == 0


def test_mistakes_say_what_to_do(tmp_path: Path) -> None:
    data = data_set([report(0, 1, 3), report(30, 1, 3)], tmp_path / "city")
    with pytest.raises(DataError, match="vehicle 9 is not in it"):
        why(data, 9, 0)
    with pytest.raises(DataError, match="the nearest seconds at which it does are 0 and 30"):
        why(data, 1, 10)
    assert "none was due" in str(why(data, 1, 30))


def test_the_command(tmp_path: Path) -> None:
    mine = [report(90, 1, 2), report(120, 1, 3), report(150, 1, 4), balance(160, 1, 5)]
    data = data_set([*crowd(55, 70, 3, speed=20), *mine], tmp_path / "city")
    asked = ["linear-road", "why", "--data", str(data.path), "--vehicle", "1"]
    page = tmp_path / "page.html"
    told = CliRunner().invoke(app, [*asked, "--time", "120", "--html", str(page)])
    assert "a toll of 50 was quoted for segment 3 of expressway 0, eastbound, and charged" in told.output
    assert "There is one if traffic was slow" in page.read_text()
    account = json.loads(CliRunner().invoke(app, [*asked, "--time", "160", "--json"]).stdout)
    assert account["answers"][0]["values"]["balance"] == 50
    assert account["answers"][0]["figures"][0]["rows"] == [[150, 0, "toll of segment 3, quoted at second 120", 50, 50]]


@pytest.mark.parametrize("profile", [SPEC, THESIS2003])
def test_a_travel_time_adds_up(tmp_path: Path, profile: Profile) -> None:
    asked = [travel(10, 1, 5, sinit=3, send=6, dow=2, tod=1440), travel(11, 1, 6, sinit=9, send=7, dow=2, tod=3)]
    data = data_set([report(0, 1, 3), *asked], tmp_path / "city")
    # Day 2 and 9 are of weekday 2, day 3 of the next one: the journey passes midnight.
    rows = [
        (day, minute, 0, 0, seg, 20 + seg + day, 60 + seg, 0)
        for day in (2, 9, 3)
        for minute in (1, 2, 3, 4, 5, 6, 7, 8, 1440)
        for seg in range(3, 8)
    ]
    file = tmp_path / "segments.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    said = why(data, 1, 10, profile, segments=file)
    found = answers(said, "travel time")[0]
    names = ("day", "minute", "xway", "dir", "seg", "lav", "cnt", "toll")
    history = pl.DataFrame(rows, schema=list(names), orient="row").to_arrow()
    frame = pl.DataFrame(pl.from_arrow(table_of(asked)))
    right = travels(frame.filter(pl.col("time") == 10), history, profile)
    assert (found["travel_time"], found["toll"]) == (right["travel_time"][0], right["toll"][0])
    assert found["travel_time"] > 60
    table = said.answers[-1].figures[0]
    assert round(sum(row[5] for row in table.rows)) == found["travel_time"]
    assert [row[0] for row in table.rows] == [3, 4, 5, 6][: 4 if profile is THESIS2003 else 3]
    assert "give it with --segments" in str(why(data, 1, 10, profile))
    lost = why(data, 1, 11, profile, segments=file)
    assert answers(lost, "travel time")[0]["travel_time"] == -1
    assert "segment 9 has no LAV above 0 on weekday 2 in minute 3" in str(lost)


def test_an_expenditure_is_looked_up(tmp_path: Path) -> None:
    data = data_set([report(0, 1, 3), expenditure(10, 1, 5, day=7)], tmp_path / "city")
    (tmp_path / "tolls.csv").write_text("1,7,0,42\n2,7,0,9\n")
    assert answers(why(data, 1, 10, tolls=tmp_path / "tolls.csv"), "daily expenditure")[0]["balance"] == 42
    assert "give it with --tolls" in str(why(data, 1, 10))
    assert answers(why(data, 1, 10, THESIS2003), "daily expenditure")[0]["balance"] == 0
