"""The city: what the server gives it, and what a user sees of it in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from arterial import attach
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.application import SETTINGS_FILE
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.data.event_files import write_city, write_events_parquet
from arterial.linearroad.semantics.city import SEGMENT_FEET
from arterial.linearroad.semantics.profiles import SPEC
from arterial.network.train import END, Train
from arterial.studio.app import make_app
from arterial.studio.server import Studio
from arterial.studio.subject import Run
from tests.linearroad.cities import report, table_of
from tests.studio.conftest import picture
from tests.studio.test_app import frame

ACCIDENT = 42
ROADS = "document.querySelector('[data-testid=city] canvas').toDataURL()"
LAST = 450


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that is over: eight minutes of an expressway with an accident in a segment, all kept."""
    folder = tmp_path_factory.mktemp("city")
    events = []
    for time in range(0, LAST + 1, 30):
        for vid in (1, 2):  # both stand at one place
            events.append(report(time, vid, ACCIDENT, speed=0, lane=2))
        for vid in range(100, 180):  # others come near, a segment a report
            seg = ACCIDENT - 5 + (time // 30 + vid) % 9
            events.append(report(time, vid, seg, speed=60, pos=seg * SEGMENT_FEET + 7 * vid))
        for vid in range(200, 340):  # and many are slow elsewhere: a toll
            seg = 10 + (time // 30 + vid) % 4
            events.append(report(time, vid, seg, speed=30, pos=seg * SEGMENT_FEET + 7 * vid))
    table = table_of(events)
    (folder / "data" / "events").mkdir(parents=True)
    write_events_parquet(folder / "data" / "events" / "xway-000.parquet", [table])
    write_city(folder / "data", {"xways": 1, "seconds": LAST + 1})
    reports = pl.from_arrow(table)
    assert isinstance(reports, pl.DataFrame)
    reports = reports.select(pl.col(name).cast(kind) for name, kind in REPORT_SCHEMA.polars().items())
    seconds = range(0, LAST + 1, 30)
    trains = [Train(reports.filter(pl.col("time") == one), END if one == LAST else one) for one in seconds]
    run = run_locally(
        linear_road_network(SPEC, History(), keep="1 hour"),
        {
            "reports": MemorySource(trains),
            "requests": MemorySource(Train(REQUEST_SCHEMA.empty(), train.through) for train in trains),
        },
        {"alerts": MemorySink(), "notices": MemorySink()},
        folder / "work" / "checkpoint",
        Settings(shards=2),
    )
    assert run.wait(60)
    settings = {"data": str(folder / "data"), "profile": "spec", "disorder": "0", "replicate": "1", "tolls": "None"}
    (folder / "work" / SETTINGS_FILE).write_text(json.dumps(settings))
    return folder


@pytest.fixture
def client(city: Path) -> Iterator[TestClient]:
    with TestClient(make_app(Run(city / "work" / "checkpoint")), base_url="http://localhost") as client:
        yield client


@pytest.mark.thorough
def test_the_newest_report_of_each_vehicle_comes_once(client: TestClient) -> None:
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_json({"open": "rows", "id": 1, "place": "kept_reports", "since": "1 minute", "newest": "vid"})
        _, said = frame(socket)
        assert "outputs" in said
        _, rows = frame(socket)
    vids = rows["texts"]["vid"]
    assert len(vids) == len(set(vids)) == 222
    assert set(rows["texts"]["time"]) == {LAST}


@pytest.mark.thorough
def test_a_column_that_is_not_there_is_said(client: TestClient) -> None:
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_json({"open": "rows", "id": 1, "place": "kept_reports", "newest": "car"})
        frame(socket)
        _, said = frame(socket)
    assert "no column 'car'; there are: time, vid" in said["error"]


@pytest.mark.thorough
def test_why_a_vehicle_was_quoted_a_toll(client: TestClient, city: Path) -> None:
    said = client.get("/api/vehicle/why?vid=200&time=420").json()
    first = said["answers"][0]
    assert first["kind"] == "toll notice"
    assert first["reasons"][0]["rule"]
    notices = attach(city / "work" / "checkpoint", "kept_notices").collect()["answer"].filter(vid=200).sort("time")
    quoted = notices.filter(pl.col("time") <= 420)["toll"].to_list()
    assert said["balance"] == sum(quoted[:-1]) > 0  # a toll is charged when the next segment is entered
    missing = client.get("/api/vehicle/why?vid=99999&time=420")
    assert missing.status_code == 400
    assert "vehicle 99999 is not in it" in missing.json()["detail"]
    kept = (city / "work" / SETTINGS_FILE).read_text()
    try:
        (city / "work" / SETTINGS_FILE).write_text(json.dumps({"data": "live input", "profile": "spec"}))
        gone = client.get("/api/vehicle/why?vid=100&time=420")
        assert "cannot be read again from here" in gone.json()["detail"]
        (city / "work" / SETTINGS_FILE).unlink()
        assert "expected a run of" in client.get("/api/vehicle/why?vid=100&time=420").json()["detail"]
    finally:
        (city / "work" / SETTINGS_FILE).write_text(kept)


@pytest.mark.thorough
def test_the_city_shows_the_accident_its_vehicles_and_why(page: Page, city: Path) -> None:
    shown = Studio(Run(city / "work" / "checkpoint")).start()
    try:
        page.goto(f"{shown.address}#/city")
        expect(page.get_by_test_id("city-size")).to_have_text("222")
        expect(page.get_by_test_id("accidents")).to_contain_text(f"Expressway 0 eastbound, segment {ACCIDENT}")
        assert inked(page) > 200, "the vehicles are not drawn"
        colours = roads(page)
        page.get_by_role("button", name="Toll").click()
        expect(page).to_have_url(re.compile("colour=toll"))
        page.wait_for_function(f"before => {ROADS} !== before", arg=colours)
        page.get_by_role("button", name="Speed").click()
        rows = page.get_by_test_id("responses").locator("tbody tr")
        expect(rows.filter(has_text="notices")).to_contain_text(re.compile("5.0 s|5 s"))  # the benchmark's limit
        page.get_by_label("Find a vehicle").fill("105")
        page.get_by_role("button", name="Find").click()
        card = page.get_by_test_id("card")
        expect(card).to_contain_text("60 mph")
        expect(card).to_contain_text("Alerted of an accident ahead")
        expect(card.get_by_test_id("trip")).to_contain_text("This trip: since 0:00:00")
        card.get_by_role("button", name="Why was").first.click()
        expect(page.get_by_test_id("vehicle-why")).to_contain_text("rule")
        expect(page.get_by_test_id("balance")).to_have_text(re.compile(r"^\d"))
        picture(page, "city-why")
        # The slider goes back to when nobody knew of the accident; the address brings the vehicle back.
        assert "vehicle=105" in page.url
        page.get_by_label("Moment").focus()
        page.keyboard.press("Home")
        expect(page.get_by_test_id("city-time")).to_have_text("0:00:00")
        expect(page.get_by_text("Nobody is alerted of one.")).to_be_visible()
        # It plays on from there; and where one looks is in the address.
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_test_id("city-time")).not_to_have_text("0:00:00")
        page.get_by_role("button", name="Nearer").click()
        expect(page).to_have_url(re.compile("eye="))
        looked = re.search("eye=[^&]*", page.url)
        page.reload()
        expect(page.get_by_test_id("city-size")).to_have_text("222")
        page.wait_for_timeout(1200)
        assert looked is not None
        assert looked[0] in page.url
    finally:
        shown.stop()


@pytest.mark.thorough
def test_the_network_of_linear_road_appears_and_its_groups_open(page: Page, city: Path) -> None:
    value = linear_road_network(SPEC, History(), keep="1 hour")
    shown = Studio(Run(city / "work" / "checkpoint")).start()
    try:
        page.goto(f"{shown.address}#/network?window=300")
        expect(page.get_by_test_id("state")).to_have_text("finished")
        for name in ("reports", "requests", "notices", "alerts"):
            expect(page.locator(f'.react-flow__node[data-id="{name}"]')).to_be_visible()
        while (closed := page.locator('.react-flow__node[data-id^="group:"]')).count():
            closed.first.click()
            page.wait_for_timeout(300)
        expect(page.locator(".react-flow__node .box")).to_have_count(len(value.boxes))
        picture(page, "linear-road")
    finally:
        shown.stop()


@pytest.mark.slow
def test_a_screen_reader_finds_its_way_in_the_city(page: Page, city: Path) -> None:
    shown = Studio(Run(city / "work" / "checkpoint")).start()
    found = []
    try:
        for dark in ("light", "dark"):
            page.emulate_media(color_scheme=dark)  # type: ignore[arg-type]
            for width, height in ((1280, 800), (820, 1180)):
                page.set_viewport_size({"width": width, "height": height})
                page.goto("about:blank")
                page.goto(f"{shown.address}#/city?vehicle=105")
                expect(page.get_by_test_id("card")).to_contain_text("60 mph")
                picture(page, f"city-{dark}-{width}")
                said = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
                if said.violations_count:
                    found.append(f"{dark} {width}\n{said.generate_report()}")
        # By keyboard alone: nearer, along the road, and all of it again.
        page.get_by_test_id("city").focus()
        page.keyboard.press("+")
        expect(page).to_have_url(re.compile("eye="))
        page.keyboard.press("0")
        expect(page).not_to_have_url(re.compile("eye="))
    finally:
        shown.stop()
    assert not found, "\n\n".join(found)


@pytest.mark.slow
def test_a_hundred_thousand_vehicles(page: Page, tmp_path: Path) -> None:
    many, xways = 100_000, 4
    vid = pl.int_range(many, eager=True)
    first = pl.DataFrame({"vid": vid, "xway": vid % xways, "dir": vid // xways % 2, "lane": vid // 8 % 3 + 1})
    first = first.with_columns(pos=vid * 7919 % (100 * SEGMENT_FEET - 3000), speed=vid % 60 + 40)
    trains = []
    for time in (0, 30):
        reports = first.with_columns(time=time, pos=pl.col("pos") + 44 * time).with_columns(
            seg=pl.col("pos") // SEGMENT_FEET
        )
        rows = reports.select(pl.col(name).cast(kind) for name, kind in REPORT_SCHEMA.polars().items())
        trains.append(Train(rows, END if time else time))
    run = run_locally(
        linear_road_network(SPEC, History(), keep="1 hour"),
        {
            "reports": MemorySource(trains),
            "requests": MemorySource(Train(REQUEST_SCHEMA.empty(), train.through) for train in trains),
        },
        {"alerts": MemorySink(), "notices": MemorySink()},
        tmp_path / "run",
        Settings(shards=2),
    )
    assert run.wait(300)
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/city")
        expect(page.get_by_test_id("city-size")).to_have_text("100,000", timeout=120_000)
        assert inked(page) > 50_000, "the vehicles are not drawn"
        frames = [float(page.get_by_test_id("city").get_attribute("data-frame") or 0) for _ in range(10)]
        print(f"\n{many:,} vehicles: {sorted(frames)[5]:.1f} ms of script a frame")
        picture(page, "city-100000")
        # One of them can be found, and looked at near by.
        page.get_by_label("Find a vehicle").fill("99999")
        page.get_by_role("button", name="Find", exact=True).click()
        expect(page.get_by_test_id("card")).to_contain_text("79 mph")
        for _ in range(3):
            page.get_by_role("button", name="Nearer").click()
        assert inked(page) > 2000
    finally:
        shown.stop()


def roads(page: Page) -> str:
    """The segments as they are painted."""
    found: str = page.evaluate(ROADS)
    return found


def inked(page: Page) -> int:
    """How many pixels of the vehicles' canvas are not empty, read in the frame in which they are drawn."""
    script = """() => new Promise(done => requestAnimationFrame(() => {
        const from = document.querySelector('[data-testid=vehicles]');
        const copy = document.createElement('canvas');
        copy.width = from.width; copy.height = from.height;
        const context = copy.getContext('2d');
        context.drawImage(from, 0, 0);
        const data = context.getImageData(0, 0, copy.width, copy.height).data;
        let number = 0;
        for (let at = 3; at < data.length; at += 4) if (data[at] > 0) number++;
        done(number);
    }))"""
    found: int = page.evaluate(script)
    return found
