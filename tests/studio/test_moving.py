"""Moving objects in the city: any stream with places, and moving queries with their caches and changes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Page, expect

from arterial import attach
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.pace import MAX, Pace
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.settings import Settings
from arterial.moving.application.feed import EventFeed
from arterial.moving.application.network import QueryOptions, moving_network
from arterial.moving.application.prepare import OBJECTS, QUERIES, prepare
from arterial.moving.queries.space import Space
from arterial.network.train import END, Train
from arterial.studio.server import Studio
from arterial.studio.subject import Run
from tests.studio.conftest import picture
from tests.studio.test_city import inked

pytestmark = pytest.mark.thorough


@pytest.mark.slow
def test_any_stream_with_x_and_y_is_a_city_too(page: Page, tmp_path: Path) -> None:
    net = Network("robots")
    source = net.source("seen", {"time": int, "robot": int, "x": float, "y": float})
    source.group_by("robot").connection_point("kept", "1 hour")
    source.output("all")
    rows = [(time, one, 10.0 * one + time, float(one * one)) for time in range(20) for one in range(30)]
    moves = pl.DataFrame(rows, schema=["time", "robot", "x", "y"], orient="row")
    trains = [Train(moves.filter(pl.col("time") == one), END if one == 19 else one) for one in range(20)]
    _run(net, trains, tmp_path / "run")
    with _shown(tmp_path / "run") as shown:
        page.goto(f"{shown.address}#/city?vehicle=7")
        expect(page.get_by_test_id("city-size")).to_have_text("30")
        expect(page.get_by_test_id("card")).to_contain_text("x 89, y 49")
        assert inked(page) > 200


@pytest.mark.slow
def test_a_stream_with_longitude_latitude_and_dates_is_one_too(page: Page, tmp_path: Path) -> None:
    net = Network("ships")
    source = net.source("seen", {"time": "timestamp", "name": str, "lon": float, "lat": float})
    source.group_by("name").connection_point("kept", "1 hour")
    source.output("all")
    start = datetime(2026, 5, 1, 12)
    trains = []
    for second in range(20):
        time = start + timedelta(seconds=second)
        rows = [(time, f"ship {one}", 10 + one / 10, 60 + one / 10 + second / 1000) for one in range(11)]
        seen = pl.DataFrame(rows, schema=["time", "name", "lon", "lat"], orient="row")
        trains.append(Train(seen, END if second == 19 else (time - datetime(1970, 1, 1)) // timedelta(microseconds=1)))
    _run(net, trains, tmp_path / "run")
    # The stream's own times are shown, wherever the one who looks is.
    page.context.new_cdp_session(page).send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    with _shown(tmp_path / "run") as shown:
        page.goto(f"{shown.address}#/city?vehicle=ship%203")
        expect(page.get_by_test_id("city-size")).to_have_text("11")
        expect(page.get_by_test_id("city-time")).to_have_text("01/05/2026, 12:00:19")
        expect(page.get_by_test_id("card")).to_contain_text("lon 10.3°, lat 60.319°. Last report at 01/05/2026, 12")
        expect(page.get_by_test_id("scale")).to_have_text(re.compile(r"^\d+ km$"))
        # As many degrees north as east, at 60°: twice as high as wide.
        box = painted(page, "vehicles")
        assert 1.8 < box["height"] / box["width"] < 2.2


def test_moving_queries_follow_their_objects(page: Page, tmp_path: Path) -> None:
    lines = ["0,movingrange,around,1,20,20", "0,movingknn,next,2,1", "0,range,fixed,0,0,300,300"]
    lines += [f"{time},object,{one},{10 * one + time},{5 * one}" for time in range(60) for one in range(8)]
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    ready = prepare(
        tmp_path / "events.csv", tmp_path / "events", rejects=tmp_path / "no.csv", space=Space.PLANE, timeout=None
    )
    feeds = {name: EventFeed(ready, name, Pace(0, MAX, ready.ticks)) for name in (OBJECTS, QUERIES)}
    network = moving_network(ready, QueryOptions(), "1 hour")
    run = run_locally(network, feeds, {"updates": MemorySink()}, tmp_path / "run", Settings(shards=1))
    assert run.wait(300)  # its kernels may have to be compiled
    with _shown(tmp_path / "run") as shown:
        page.goto(f"{shown.address}#/city?vehicle=1")
        expect(page.get_by_test_id("city-size")).to_have_text("8")
        expect(page.get_by_test_id("city-queries")).to_have_text("3")
        expect(page.get_by_test_id("card")).to_contain_text("Followed by around, next")
        page.get_by_test_id("card").get_by_role("button", name="around").click()
        expect(page.get_by_test_id("changes")).to_contain_text("Query around is marked")
        picture(page, "moving-plane")
        # The card says what the run answered.
        answers = attach(tmp_path / "run", "kept_updates").collect()["answer"]
        held = answers.filter(object=1).group_by("query").agg(pl.col("sign").sum()).filter(sign=1)["query"].to_list()
        assert held
        for query in held:
            expect(page.get_by_test_id("card")).to_contain_text(query)


@pytest.fixture
def streets(tmp_path: Path) -> Iterator[LocalRun]:
    """A live run at 60° north: car 1 drives east past standing cars; a range and a nearest set go with it."""
    lines = ["0,movingrange,around,1,2000,2000", "0,movingknn,next,3,1"]
    for time in range(900):
        lines.append(f"{time},object,1,{25 + 0.002 * time},60.0")
        if time % 20 == 0:  # each 500 m, beside the street; the corners say how large the city is
            lines += [f"{time},object,{100 + one},{25 + 0.009 * one},60.002" for one in range(200)]
            lines += [f"{time},object,2,25.0,59.97", f"{time},object,3,25.2,60.03"]
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    run = _live(tmp_path, speed=2.0, longest_step=500.0)
    yield run
    run.stop()


def test_queries_in_degrees_go_with_their_objects_and_their_changes_flash(
    page: Page, tmp_path: Path, streets: LocalRun
) -> None:
    with _shown(tmp_path / "run") as shown:
        page.goto(f"{shown.address}#/city?query=around&eye=25.1,60,1")
        expect(page.get_by_test_id("city-queries")).to_have_text("2")
        # 2,000 by 2,000 metres and 500 more on each side are a square on the page, though not in degrees.
        _until(page, lambda: painted(page, "marks", "--accent")["width"] > 20)
        box = painted(page, "marks", "--accent")
        assert box["width"] == pytest.approx(box["height"], abs=6)
        # It goes with its car.
        before = _middle(page)
        _until(page, lambda: _middle(page) > before + 5)
        # Whoever joins and leaves is listed, and flashes where it is.
        changes = page.get_by_test_id("changes")
        expect(changes).to_contain_text("┄ cache")
        expect(changes.locator("li", has_text="joins around").first).to_be_visible()
        expect(changes.locator("li", has_text="leaves around").first).to_be_visible()
        expect(changes.locator("li", has_text="next").first).to_be_visible()
        page.get_by_role("button", name="No longer").click()
        for colour in ("--accent", "--bad"):  # nothing is marked: only flashes are so coloured
            _until(page, lambda colour=colour: painted(page, "marks", colour)["number"] > 20)
        picture(page, "moving-degrees")


@pytest.mark.slow
def test_a_city_of_degrees_in_the_dark(page: Page, tmp_path: Path) -> None:
    """The picture of the docs: what `arterial moving generate` makes, its queries by name, and how long a way is."""
    asked = "--ranges 3 --moving-ranges 6 --knn 3 --moving-knn 5 --side 900 --k 6"
    size = "--objects 800 --seconds 400 --every 2 --lonlat 13.4,52.5"
    command = f"moving generate --out {tmp_path / 'events.csv'} {size} {asked}"
    subprocess.run([sys.executable, "-m", "arterial", *command.split()], check=True, capture_output=True)
    run = _live(tmp_path, speed=1.0, longest_step=60.0)
    try:
        with _shown(tmp_path / "run") as shown:
            page.emulate_media(color_scheme="dark")
            page.goto(f"{shown.address}#/city?query=movingrange1")
            expect(page.get_by_test_id("city-queries")).to_have_text("17")
            expect(page.get_by_test_id("scale")).to_have_text("2 km")
            _until(page, lambda: run.status.step > 60)
            expect(page.get_by_test_id("changes").locator("li").nth(9)).to_be_visible()
            picture(page, "studio-moving")
    finally:
        run.stop()


def _live(folder: Path, speed: float, longest_step: float) -> LocalRun:
    """A run of `events.csv` in a folder, in degrees, as fast as the clock or faster."""
    events, space = folder / "events.csv", Space.LONLAT
    ready = prepare(events, folder / "events", rejects=folder / "no.csv", space=space, timeout=None)
    pace = Pace(0, speed, ready.ticks)
    feeds = {name: EventFeed(ready, name, pace) for name in (OBJECTS, QUERIES)}
    network = moving_network(ready, QueryOptions(space, longest_step=longest_step), "1 hour")
    return run_locally(network, feeds, {"updates": MemorySink()}, folder / "run", Settings(shards=1, interval=0.25))


def _run(net: Network, trains: list[Train], folder: Path) -> None:
    """Let a network read all that was seen."""
    settings = Settings(shards=2)
    run = run_locally(net.value, {"seen": MemorySource(trains)}, {"all": MemorySink()}, folder, settings)
    assert run.wait(60)


def _middle(page: Page) -> float:
    box = painted(page, "marks", "--accent")
    return float(box["left"] + box["width"] / 2)


@contextmanager
def _shown(folder: Path) -> Iterator[Studio]:
    shown = Studio(Run(folder)).start()
    try:
        yield shown
    finally:
        shown.stop()


def _until(page: Page, true: Callable[[], bool], seconds: float = 60.0) -> None:
    for _ in range(int(seconds * 10)):
        if true():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it never was so")


def painted(page: Page, canvas: str, colour: str = "") -> dict[str, Any]:
    """Where a canvas is painted, with a colour of the page or any: how many pixels, and the rectangle around them."""
    script = """([canvas, name]) => new Promise(done => requestAnimationFrame(() => {
        const from = document.querySelector(`[data-testid=${canvas}]`);
        const copy = document.createElement('canvas');
        copy.width = from.width; copy.height = from.height;
        const context = copy.getContext('2d');
        context.fillStyle = name && getComputedStyle(from).getPropertyValue(name).trim();
        context.fillRect(0, 0, 1, 1);
        const asked = context.getImageData(0, 0, 1, 1).data;
        context.clearRect(0, 0, 1, 1);
        context.drawImage(from, 0, 0);
        const data = context.getImageData(0, 0, copy.width, copy.height).data;
        let [number, left, right, top, bottom] = [0, Infinity, -Infinity, Infinity, -Infinity];
        for (let at = 0; at < data.length; at += 4) {
            if (data[at + 3] < 100) continue;
            if (name && [0, 1, 2].some(part => Math.abs(data[at + part] - asked[part]) > 12)) continue;
            const [x, y] = [at / 4 % copy.width, Math.floor(at / 4 / copy.width)];
            number++;
            [left, right] = [Math.min(left, x), Math.max(right, x)];
            [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
        }
        if (!number) [left, right, top, bottom] = [0, 0, 0, 0];
        done({number, left, top, width: right - left, height: bottom - top});
    }))"""
    found: dict[str, Any] = page.evaluate(script, [canvas, colour])
    return found
