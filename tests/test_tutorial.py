"""The tutorial: its three networks on real files against plain loops, in this process and on Spark, and its pages."""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from runpy import run_path
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
SENSORS, FLEET, CLICKS = (run_path(str(ROOT / "examples" / f"{name}.py")) for name in ("sensors", "fleet", "clicks"))

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)

Row = dict[str, Any]
Rows = list[Row]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_locally(network: str, sources: dict[str, Path]) -> dict[str, pl.DataFrame]:
    """What `arterial run --local` writes."""
    given = [word for name, path in sources.items() for word in ("--source", f"{name}={path}")]
    command = ["run", str(ROOT / "examples" / f"{network}.py"), *given, "--local", "--merge", "--shards", "3"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return {path.stem: pl.read_parquet(path) for path in Path("out").glob("*.parquet")}


def run_on_spark(network: art.Network, sources: dict[str, Path], spark: SparkSession) -> dict[str, pl.DataFrame]:
    given: Row = {name: str(path) for name, path in sources.items()}
    run = art.run(network, spark=spark, checkpoint=Path.cwd() / "checkpoint", **given)
    run.wait()
    return dict(run.outputs)


def ordered(frame: pl.DataFrame) -> Rows:
    """The rows in one order, for those of different groups come in any."""
    return [
        {name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for name, value in row.items()}
        for row in frame.sort(frame.columns, nulls_last=True).iter_rows(named=True)
    ]


def same_rows(got: pl.DataFrame, expected: Rows) -> None:
    def order(row: Row) -> list[Any]:
        return [(row[name] is None, row[name]) for name in got.columns]

    assert expected, "the data should bring some"
    assert ordered(got) == [{name: row[name] for name in got.columns} for row in sorted(expected, key=order)]


def same_outputs(got: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    assert got.keys() == expected.keys()
    for name in got:
        assert expected[name].height
        assert ordered(got[name]) == ordered(expected[name]), name


def table(path: Path) -> Iterator[dict[str, str]]:
    """The lines of a CSV file."""
    return iter(csv.DictReader(path.read_text().splitlines()))


def in_time(rows: Rows, disorder: timedelta) -> tuple[Rows, Rows]:
    """The rows of a file that came in time, and those that were late."""
    kept: Rows = []
    late: Rows = []
    highest = LONG_AGO
    for row in rows:
        (late if row["time"] < highest - disorder else kept).append(row)
        highest = max(highest, row["time"])
    return kept, late


def without_repeats(rows: Rows, key: Callable[[Row], object]) -> Iterator[Row]:
    """The rows without those whose key passed a minute ago or less."""
    passed: dict[object, datetime] = {}
    for row in rows:
        if row["time"] - passed.get(key(row), LONG_AGO) > timedelta(minutes=1):
            passed[key(row)] = row["time"]
            yield row


# Sensors


@pytest.fixture
def sensors(folder: Path) -> dict[str, Path]:
    SENSORS["make_readings"](folder, minutes=20)
    return {"readings": folder / "readings.csv", "places": folder / "places.csv"}


@pytest.mark.thorough
def test_sensors(sensors: dict[str, Path]) -> None:
    out = run_locally("sensors", sensors)
    fit, bad = [], 0
    for line in table(sensors["readings"]):
        time, celsius = datetime.fromisoformat(line["time"]), line["celsius"]
        if celsius == "ERR":
            bad += 1
        else:
            value = float(celsius) if celsius else None
            fit.append({"time": time, "sensor": line["sensor"], "number": int(line["number"]), "celsius": value})
    readings, late = in_time(fit, timedelta(seconds=20))
    assert bad
    assert readings != sorted(readings, key=lambda row: row["time"])
    same_rows(out["too_late"], late)
    readings.sort(key=lambda row: row["time"])
    once = list(without_repeats(readings, lambda row: (row["sensor"], row["number"])))
    assert len(once) < len(readings)

    places = {line["sensor"]: line for line in table(sensors["places"])}
    hot: dict[str, int] = {}
    alerts = []
    for row in once:
        place = places.get(row["sensor"])
        is_hot = place is not None and row["celsius"] is not None and row["celsius"] > float(place["hottest"])
        hot[row["sensor"]] = hot.get(row["sensor"], 0) + 1 if is_hot else 0
        if place is not None and hot[row["sensor"]] == 3:
            alerts.append({**row, "room": place["room"], "hottest": float(place["hottest"])})
    same_rows(out["alerts"], alerts)

    means = []
    start = datetime(2026, 3, 1, 5, tzinfo=UTC)
    for end in (start + timedelta(minutes=minute) for minute in range(1, 30)):
        for sensor in {row["sensor"] for row in once}:
            inside = [
                row["celsius"]
                for row in once
                if row["sensor"] == sensor and end - timedelta(minutes=5) <= row["time"] < end
            ]
            known = [value for value in inside if value is not None]
            if inside:
                mean = math.fsum(known) / len(known) if known else None
                means.append(
                    {"sensor": sensor, "time": end - timedelta(microseconds=1), "mean": mean, "n": len(inside)}
                )
    same_rows(
        out["means"].with_columns(pl.col("mean").round(6)), [{**one, "mean": round(one["mean"], 6)} for one in means]
    )


@pytest.mark.thorough
def test_sensors_on_spark(sensors: dict[str, Path], spark: SparkSession) -> None:
    same_outputs(run_on_spark(SENSORS["net"], sensors, spark), run_locally("sensors", sensors))


# Fleet


@pytest.fixture
def fleet(folder: Path) -> dict[str, Path]:
    FLEET["make_reports"](folder / "reports.jsonl", minutes=25)
    return {"reports": folder / "reports.jsonl"}


def metres(a: tuple[float, float], b: tuple[float, float]) -> float:
    """The distance on a sphere, by the haversine formula."""
    (lon, lat), (other_lon, other_lat) = (map(math.radians, place) for place in (a, b))
    half = math.sin((other_lat - lat) / 2) ** 2
    half += math.cos(lat) * math.cos(other_lat) * math.sin((other_lon - lon) / 2) ** 2
    return 2 * 6_371_008.8 * math.asin(math.sqrt(half))


def in_ring(place: tuple[float, float], ring: list[tuple[float, float]]) -> bool:
    """Whether a ray to the east crosses the ring an odd number of times."""
    x, y = place
    crossed = False
    for (x1, y1), (x2, y2) in zip(ring, [*ring[1:], ring[0]], strict=True):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1):
            crossed = not crossed
    return crossed


def areas_of(van: str, place: dict[str, tuple[float, float]]) -> set[str]:
    """The areas of the example that a van is in."""
    here = place[van]
    lon, lat = here
    block = [(13.400, 52.512), (13.415, 52.512), (13.415, 52.522), (13.400, 52.522)]
    square = [(13.405, 52.515), (13.410, 52.515), (13.410, 52.519), (13.405, 52.519)]
    inside = {
        "depot": metres(here, (13.400, 52.500)) <= 300,
        "airport": 13.430 <= lon <= 13.450 and 52.510 <= lat <= 52.525,
        "harbour": in_ring(here, [(13.370, 52.510), (13.385, 52.512), (13.375, 52.522)]),
        "old town": in_ring(here, block) and not in_ring(here, square),
        "escort": van != "v1" and "v1" in place and metres(here, place["v1"]) <= 400,
    }
    assert inside.keys() == FLEET["AREAS"].keys()
    return {area for area, is_in in inside.items() if is_in}


@pytest.mark.thorough
def test_fleet(fleet: dict[str, Path]) -> None:
    out = run_locally("fleet", fleet)
    lines = [json.loads(line) for line in fleet["reports"].read_text().splitlines()]
    fit = [{**line, "time": datetime.fromisoformat(line["time"])} for line in lines]
    reports, late = in_time(fit, timedelta(seconds=10))
    same_rows(out["too_late"], late)
    silence, stay = timedelta(minutes=3), timedelta(minutes=4)
    reported: dict[str, datetime] = {}
    place: dict[str, tuple[float, float]] = {}
    since: dict[tuple[str, str], datetime] = {}
    answer: dict[str, Row] = {}
    events, nearest = [], []

    for now in sorted({row["time"] + wait for row in reports for wait in (timedelta(), silence)}):
        for row in reports:
            if row["time"] == now:
                reported[row["van"]], place[row["van"]] = now, (row["lon"], row["lat"])
        place = {van: where for van, where in place.items() if now - reported[van] < silence}
        inside = {(van, area) for van in place for area in areas_of(van, place)}
        for van, area in since.keys() - inside:
            entered = since.pop((van, area))
            event = {"van": van, "fence": area, "since": entered}
            events.append({**event, "time": now, "event": "exit"})
            if now > entered + stay:
                events.append({**event, "time": entered + stay, "event": "dwell"})
        for van, area in inside - since.keys():
            since[van, area] = now
            events.append({"van": van, "fence": area, "since": now, "time": now, "event": "enter"})
        three = sorted(place, key=lambda van: (metres(place[van], FLEET["CUSTOMER"]), van))[:3]
        nearest += [{**answer.pop(van), "time": now, "sign": -1} for van in answer.keys() - set(three)]
        for van in set(three) - answer.keys():
            answer[van] = {"van": van, "lon": place[van][0], "lat": place[van][1]}
            nearest.append({**answer[van], "time": now, "sign": 1})

    assert {(row["fence"], row["event"]) for row in events} >= {(area, "exit") for area in FLEET["AREAS"]}
    assert "dwell" in {row["event"] for row in events}
    same_rows(out["events"], events)
    same_rows(out["nearest"], nearest)


@pytest.mark.thorough
def test_fleet_on_spark(fleet: dict[str, Path], spark: SparkSession) -> None:
    same_outputs(run_on_spark(FLEET["net"], fleet, spark), run_locally("fleet", fleet))


# Clicks


@pytest.fixture
def clicks(folder: Path) -> dict[str, Path]:
    CLICKS["make_clicks"](folder / "clicks")
    return {"clicks": folder / "clicks"}


def test_clicks(clicks: dict[str, Path]) -> None:
    out = run_locally("clicks", clicks)
    kept: Rows = []
    late: Rows = []
    for path in sorted(clicks["clicks"].iterdir()):
        lines = table(path)
        fit = [{**line, "time": datetime.fromisoformat(line["time"]), "click": int(line["click"])} for line in lines]
        for rows, more in zip((kept, late), in_time(fit, timedelta(seconds=5)), strict=True):
            rows += more
    same_rows(out["too_late"], [{**row, "user": row["user"] or None} for row in late])
    known = sorted((row for row in kept if row["user"]), key=lambda row: row["time"])
    once = list(without_repeats(known, lambda row: row["click"]))
    assert len(once) < len(known) < len(kept)

    sessions: Rows = []
    latest: dict[str, Rows] = {}
    for row in once:
        visit = latest.get(row["user"])
        if visit is None or row["time"] - visit[-1]["time"] > timedelta(minutes=10):
            visit = latest[row["user"]] = []
            sessions.append({"user": row["user"], "rows": visit})
        visit.append(row)
    visits = [
        {
            "user": session["user"],
            "time": rows[-1]["time"],
            "since": rows[0]["time"],
            "clicks": len(rows),
            "entry": rows[0]["page"],
            "leaving": rows[-1]["page"],
        }
        for session in sessions
        for rows in [session["rows"]]
    ]
    same_rows(out["visits"], visits)

    hours: dict[datetime, Rows] = {}
    for visit_row in visits:
        hours.setdefault(visit_row["time"].replace(minute=0, second=0, microsecond=0), []).append(visit_row)
    same_rows(
        out["hours"],
        [
            {
                "time": hour + timedelta(hours=1, microseconds=-1),
                "visits": len(rows),
                "bounces": sum(row["clicks"] == 1 for row in rows),
                "median_clicks": float(median(row["clicks"] for row in rows)),
                "longest": max(round((row["time"] - row["since"]).total_seconds() / 60, 1) for row in rows),
            }
            for hour, rows in hours.items()
        ],
    )


@pytest.mark.thorough
def test_clicks_on_spark(clicks: dict[str, Path], spark: SparkSession) -> None:
    same_outputs(run_on_spark(CLICKS["net"], clicks, spark), run_locally("clicks", clicks))


# The pages


@pytest.mark.parametrize("name", ["sensors", "fleet", "clicks"])
def test_page(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands print what the page says; its Python draws the example's network, its picture is that network's."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "try").mkdir()
    monkeypatch.chdir(folder / "try")
    drawn, pages = Path(f"{name}.py"), ROOT / "docs" / "tutorial"
    blocks = re.findall(
        r"^```(python|console)\n(.*?)^```", (pages / f"{name}.md").read_text(), re.DOTALL | re.MULTILINE
    )
    for language, block in blocks:
        if language == "python":
            drawn.write_text((drawn.read_text() if drawn.exists() else "") + block)
        else:
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                says(command, expected.splitlines())
    example = ROOT / "examples" / drawn.name
    assert run_path(str(drawn))["net"].value == run_path(str(example))["net"].value
    assert Path(f"{name}.svg").read_text() == (pages / f"{name}.svg").read_text()


def says(command: str, expected: list[str]) -> None:
    """A command prints these lines, `…` being anything; `arterial` may print others between them, such as progress."""
    words = shlex.split(command)
    if words[0] == "arterial":
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, done.output
        printed = iter(done.output.splitlines())
        for line in expected:
            pattern = ".*".join(re.escape(part) for part in line.split("…"))
            assert any(re.fullmatch(pattern, one) for one in printed), f"{line}\nis not in\n{done.output}"
    else:
        assert shown(words).splitlines() == expected


def shown(words: list[str]) -> str:
    """What a script, or a command of the system, prints."""
    if words[0] == "python":
        with redirect_stdout(StringIO()) as printed:
            run_path(words[1], run_name="__main__")
        return printed.getvalue()
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
