"""The page in a real browser, on a real run: what a user sees and does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Locator, Page, expect

from arterial.engine.run.local import LocalRun
from arterial.network.network import NetworkValue
from arterial.studio.server import Studio
from arterial.studio.subject import Drawn, Run
from tests.studio.traffic import live, traffic

pytestmark = pytest.mark.thorough

FAST = "fast.out%20%E2%86%92%20by_vehicle.in"


def test_the_network_appears_a_group_opens_and_rates_move(page: Page, studio: Studio) -> None:
    page.goto(studio.address)
    boxes = page.locator(".react-flow__node")
    expect(boxes).to_have_count(7)
    expect(page.get_by_test_id("state")).to_have_text("running")
    page.locator('.react-flow__node[data-id="group:roads"]').click()
    expect(page.locator('.react-flow__node[data-id="road_means"]')).to_be_visible()
    expect(page.locator(".area-head")).to_contain_text("roads")
    before = int(page.get_by_test_id("step").inner_text().replace(",", ""))
    _until(lambda: int(page.get_by_test_id("step").inner_text().replace(",", "")) > before + 3)
    rate = page.locator(".way-label").first
    assert float(rate.get_attribute("data-rate") or 0) > 0
    # The address brings it all back.
    again = page.url
    assert "open=roads" in again
    page.goto("about:blank")
    page.goto(again)
    expect(page.locator('.react-flow__node[data-id="road_means"]')).to_be_visible()
    page.get_by_role("button", name="Close roads").click()
    expect(boxes).to_have_count(7)


def test_search_leads_into_a_closed_group_by_keyboard_alone(page: Page, studio: Studio) -> None:
    page.goto(studio.address)
    expect(page.locator(".react-flow__node").first).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("mean < 70")
    expect(page.locator("#hits li").first).to_contain_text("slow")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("box-page")).to_contain_text("mean < 70")
    expect(page.locator('.react-flow__node[data-id="slow"]')).to_be_visible()


def test_a_box_says_what_it_does(page: Page, studio: Studio) -> None:
    page.goto(f"{studio.address}#/network?open=speeding&box=per_ten")
    said = page.get_by_test_id("box-page")
    expect(said).to_contain_text("disjoint windows")
    expect(said).to_contain_text("§2.1")
    expect(said).to_contain_text("top = max(speed)")
    expect(said).to_contain_text("level 0, by vehicle")
    expect(said).to_contain_text("/s")


def test_a_monitor_shows_the_tuples_that_pass_and_gives_them_as_a_test(
    page: Page, studio: Studio, tmp_path: Path
) -> None:
    page.goto(f"{studio.address}#/network?open=speeding&arc={FAST}")
    rows = page.locator(".tuples tbody tr")
    expect(rows.nth(5)).to_be_visible()
    _editor(page, "Only tuples for which this is true").fill("speed > 120")
    page.get_by_role("button", name="Filter").click()
    expect(rows.nth(3)).to_be_visible()
    speeds = [int(text) for text in page.locator(".tuples tbody td:nth-child(4)").all_inner_texts()]
    assert min(speeds) > 120
    with page.expect_download() as saved:
        page.get_by_role("button", name="Parquet").click()
    assert pl.read_parquet(saved.value.path())["speed"].min() > 120  # type: ignore[operator]
    with page.expect_download() as saved:
        page.get_by_role("button", name="As a test").click()
    file = tmp_path / "test_saved.py"
    saved.value.save_as(file)
    assert "def test_what_comes_out" in file.read_text()
    scope: dict[str, object] = {"__name__": "saved"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    scope["test_what_comes_out"]()  # type: ignore[operator]


def test_the_monitor_of_an_output_shows_what_the_sink_got(page: Page, tmp_path: Path) -> None:
    run = live(tmp_path / "run", interval=0.15)
    run.pause()
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?arc=road_means.out%20%E2%86%92%20means.in")
        expect(page.get_by_test_id("state")).to_have_text("paused")
        expect(page.get_by_test_id("monitor")).to_be_visible()
        time.sleep(0.5)
        before = run.outputs["means"].height
        page.get_by_role("button", name="Resume").click()
        expect(page.locator(".tuples tbody tr").nth(9)).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_test_id("state")).to_have_text("paused")
        time.sleep(0.6)
        got = run.outputs["means"].slice(before)
        cells = page.locator(".tuples tbody tr").evaluate_all(
            "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
        )
        columns = [name for name in page.locator(".tuples th").all_inner_texts() if name]  # the last one is for Why
        assert sorted([float(one) for one in row[: len(columns)]] for row in cells) == sorted(
            [float(f"{value:.6g}") for value in row] for row in got.select(columns).rows()
        )
    finally:
        shown.stop()
        run.stop()


def test_a_breakpoint_stops_the_run_and_a_step_goes_on(page: Page, tmp_path: Path) -> None:
    run = live(tmp_path / "run", interval=0.02)
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?open=speeding&arc={FAST}")
        expect(page.get_by_test_id("monitor")).to_be_visible()
        _editor(page, "Only tuples for which this is true").fill("speed = 129 and vehicle % 7 = 3")
        page.get_by_role("button", name="Break here").click()
        expect(page.get_by_test_id("monitor-message")).to_contain_text("stopped behind step")
        expect(page.get_by_test_id("state")).to_have_text("paused")
        stopped = run.status.step
        time.sleep(0.3)
        assert run.status.step == stopped
        page.get_by_role("button", name="Step").click()
        expect(page.get_by_test_id("step")).to_have_text(f"{stopped + 1:,}")
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_test_id("state")).to_have_text("running")
    finally:
        shown.stop()
        run.stop()


def test_an_ad_hoc_query_gives_the_rows_of_the_command(page: Page, studio: Studio, running: LocalRun) -> None:
    query = "SELECT road, count(*) AS n, sum(speed) AS total FROM kept GROUP BY road, TUMBLE(time, '10 seconds')"
    page.goto(f"{studio.address}#/ask")
    _editor(page, "SQL").fill(query)
    page.get_by_role("button", name="Attach").click()
    expect(page.locator(".tuples tbody tr").nth(9)).to_be_visible()
    expect(page.locator(".plot canvas")).to_be_visible()
    page.get_by_role("button", name="Detach").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    mine = Path(saved.value.path()).read_text().splitlines()
    last = mine[-1].split(",")[mine[0].split(",").index("time")]
    printed = subprocess.run(
        [sys.executable, "-m", "arterial", "attach", str(running.checkpoint), "kept", query, "--up-to", last],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    theirs = [printed[0].removeprefix("# "), *(line for line in printed if not line.startswith("#"))]
    assert _as_rows(mine) == _as_rows(theirs)
    _editor(page, "SQL").fill("SELECT sped FROM kept")
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_role("alert")).to_contain_text("sped")


def _editor(page: Page, label: str) -> Locator:
    """The editor of that name, once it has taken the place of the plain field that the page begins with."""
    return page.locator(f'.cm-content[aria-label="{label}"]')


def _as_rows(lines: list[str]) -> list[dict[str, str]]:
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines[1:]]
    return sorted(({k: row[k] for k in ("time", "road", "n", "total")} for row in rows), key=json.dumps)


def test_a_held_arc_shows_what_waits_and_a_shed_one_its_share(page: Page, tmp_path: Path) -> None:
    run = live(tmp_path / "run", interval=0.05)
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?open=speeding&arc=per_ten.out%20%E2%86%92%20alerts.in")
        page.get_by_role("button", name="Shed").click()
        expect(page.locator(".way-label.marked")).to_contain_text("sheds 50 %")
        page.get_by_role("button", name="No longer").click()
        expect(page.locator(".way-label.marked")).to_have_count(0)
    finally:
        shown.stop()
        run.stop()


def test_the_slider_shows_a_moment_of_the_past(page: Page, studio: Studio) -> None:
    page.goto(studio.address)
    expect(page.get_by_test_id("moment")).to_contain_text("step")
    _until(lambda: int(page.get_by_test_id("step").inner_text().replace(",", "")) > 20)
    page.get_by_label("Moment").focus()
    page.keyboard.press("Home")
    expect(page.get_by_test_id("moment")).to_contain_text("step 1 ")
    assert "at=" in page.url
    page.get_by_role("button", name="Live").click()
    assert "at=" not in page.url


@pytest.fixture
def sheet() -> Iterator[Studio]:
    """An empty sheet to draw on."""
    shown = Studio(Drawn(NetworkValue("drawing"))).start()
    yield shown
    shown.stop()


def test_a_network_drawn_in_the_page_runs_and_its_python_gives_the_same(page: Page, sheet: Studio) -> None:
    page.goto(sheet.address)
    palette = page.get_by_role("navigation", name="Boxes")
    palette.get_by_role("button", name="source", exact=True).click()
    page.get_by_label("schema").fill("time int, speed int")
    palette.get_by_role("button", name="filter", exact=True).click()
    _editor(page, "predicate").fill("sped > 60")
    expect(page.get_by_test_id("box-error")).to_contain_text("sped")
    expect(page.locator(".cm-lintRange-error")).to_have_text("sped")
    _editor(page, "predicate").fill("")
    _editor(page, "predicate").press_sequentially("spe")
    expect(page.locator(".cm-tooltip-autocomplete [aria-selected]")).to_contain_text("speed")
    page.locator(".cm-tooltip-autocomplete [aria-selected]").click()
    _editor(page, "predicate").press_sequentially(" > 60")
    expect(page.get_by_test_id("box-error")).to_have_count(0)
    palette.get_by_role("button", name="output", exact=True).click()
    expect(page.get_by_test_id("draft-state")).to_have_text("fits")
    page.get_by_role("tab", name="Sample").click()
    page.get_by_label("tuples of source").fill('{"time": 1, "speed": 50}\n{"time": 2, "speed": 70}')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_test_id("sample-result")).to_contain_text("output: 1 tuples")
    page.get_by_role("tab", name="Python").click()
    scope: dict[str, object] = {}
    exec(page.get_by_test_id("python").inner_text(), scope)
    import arterial as art

    rows = art.collect(scope["net"], source=[{"time": 1, "speed": 50}, {"time": 2, "speed": 70}])["output"].to_dicts()  # type: ignore[arg-type]
    assert rows == [{"time": 2, "speed": 70}]


def test_a_graph_is_dragged_and_the_run_goes_on_with_it(page: Page, tmp_path: Path) -> None:
    run = live(tmp_path / "run")
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/draw?box=alerts")
        point = page.locator(".graph-edit .point").first
        expect(point).to_be_visible()
        expect(page.get_by_test_id("draft-state")).to_have_text("fits")  # the page stays in its place from here on
        point.hover()
        held = point.bounding_box()
        assert held is not None
        page.mouse.down()
        page.mouse.move(held["x"] - 300, held["y"] + held["height"] / 2, steps=4)
        page.mouse.up()
        expect(point).to_have_attribute("aria-label", "point 1: 0 seconds, utility 1")
        last = page.locator(".graph-edit .point").nth(1)
        last.focus()
        for _ in range(150):  # to the left end: then no step is quick enough for all of the utility
            page.keyboard.press("ArrowLeft")
        expect(page.get_by_test_id("draft-state")).to_have_text("fits")
        page.get_by_role("tab", name="Changes").click()
        expect(page.locator(".diff .gone")).to_contain_text("alerts")
        page.get_by_role("button", name="Replace in the run").click()
        expect(page.get_by_test_id("draw-message")).to_contain_text("version 2")
        _until(lambda: float(page.locator(".facts").inner_text().split("utility")[1]) < 1)
        assert run.version == 2
    finally:
        shown.stop()
        run.stop()


def test_a_run_that_ran_is_shown_too(page: Page, tmp_path: Path) -> None:
    run = live(tmp_path / "run", number=30, interval=0.0)
    run.wait()
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?window=300")
        expect(page.get_by_test_id("state")).to_have_text("finished")
        expect(page.get_by_test_id("ranked")).to_be_visible()
        expect(page.get_by_test_id("step")).to_have_text("30")
    finally:
        shown.stop()


def test_a_network_that_does_not_run_is_shown_in_the_dark(page: Page) -> None:
    shown = Studio(Drawn(traffic())).start()
    try:
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 820, "height": 1180})
        page.goto(shown.address)
        expect(page.locator(".react-flow__node")).to_have_count(7)
        expect(page.get_by_text("not running")).to_be_visible()
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(15, 20, 26)"
    finally:
        shown.stop()


def _until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    patience = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < patience
        time.sleep(0.05)
