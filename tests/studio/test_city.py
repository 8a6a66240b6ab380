"""The city: what the server gives it, and what a user sees of it in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from arterial import attach
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.pace import MAX, Pace
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.application import SETTINGS_FILE
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.data.event_files import write_city, write_events_parquet
from arterial.linearroad.semantics.city import SEGMENT_FEET
from arterial.linearroad.semantics.profiles import SPEC
from arterial.moving.application.feed import EventFeed
from arterial.moving.application.network import QueryOptions, moving_network
from arterial.moving.application.prepare import OBJECTS, QUERIES, prepare
from arterial.moving.queries.space import Space
from arterial.network.train import END, Train
from arterial.studio.app import make_app
from arterial.studio.server import Studio
from arterial.studio.subject import Run
from tests.linearroad.cities import report, table_of
from tests.studio.conftest import picture
from tests.studio.test_app import frame

ACCIDENT = 42
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
        page.get_by_label("Find a vehicle").fill("105")
        page.get_by_role("button", name="Find").click()
        card = page.get_by_test_id("card")
        expect(card).to_contain_text("60 mph")
        expect(card).to_contain_text("Alerted of an accident ahead")
        card.get_by_role("button", name="Why was").first.click()
        expect(page.get_by_test_id("vehicle-why")).to_contain_text("rule")
        picture(page, "studio-city")
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


@pytest.mark.thorough
def test_any_stream_with_x_and_y_is_a_city_too(page: Page, tmp_path: Path) -> None:
    net = Network("robots")
    source = net.source("moves", {"time": int, "robot": int, "x": float, "y": float})
    source.group_by("robot").connection_point("kept", "1 hour")
    source.output("all")
    rows = [(time, one, 10.0 * one + time, float(one * one)) for time in range(20) for one in range(30)]
    moves = pl.DataFrame(rows, schema=["time", "robot", "x", "y"], orient="row")
    trains = [Train(moves.filter(pl.col("time") == one), END if one == 19 else one) for one in range(20)]
    run = run_locally(
        net.value, {"moves": MemorySource(trains)}, {"all": MemorySink()}, tmp_path / "run", Settings(shards=2)
    )
    assert run.wait(60)
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/city?vehicle=7")
        expect(page.get_by_test_id("city-size")).to_have_text("30")
        expect(page.get_by_test_id("card")).to_contain_text("x 89.00000, y 49.00000")
        assert inked(page) > 200
    finally:
        shown.stop()


@pytest.mark.thorough
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
    assert run.wait(60)
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/city?vehicle=1")
        expect(page.get_by_test_id("city-size")).to_have_text("8")
        expect(page.get_by_test_id("city-queries")).to_have_text("3")
        expect(page.get_by_test_id("card")).to_contain_text("Followed by around, next")
        page.get_by_test_id("card").get_by_role("button", name="around").click()
        expect(page.get_by_test_id("changes")).to_contain_text("Query around is marked")
        picture(page, "studio-moving")
        # The card says what the run answered.
        answers = attach(tmp_path / "run", "kept_updates").collect()["answer"]
        held = answers.filter(object=1).group_by("query").agg(pl.col("sign").sum()).filter(sign=1)["query"].to_list()
        assert held
        for query in held:
            expect(page.get_by_test_id("card")).to_contain_text(query)
    finally:
        shown.stop()


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
