"""The page in a real browser, on a real run: what a user sees and does."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from arterial import Delay, Network
from arterial.causes.local_record import write_record
from arterial.connectors.files.source import FileSource
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.checkpoint.folder import FOLDER, STATUS_FILE
from arterial.engine.run.checkpoint.lock import lock_checkpoint
from arterial.engine.run.figures.status import StatusFile
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.settings import Settings
from arterial.face.collect import collect
from arterial.network.network import NetworkValue
from arterial.studio.server import Studio
from arterial.studio.subject import Drawn, Run
from tests.studio.conftest import picture
from tests.studio.traffic import live, traffic, trains

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
    # What Spark runs: levels as colours, shuffles dashed; and what waits at a source.
    expect(page.locator(".way.shuffles")).to_have_count(1)  # the other one is in the group that is closed
    expect(page.locator('.react-flow__node[data-id="by_road"] .level-1')).to_be_visible()
    expect(page.locator('.react-flow__node[data-id="reports"] .level-0')).to_be_visible()
    expect(page.locator(".legend")).to_contain_text("level 0")
    expect(page.locator('.react-flow__node[data-id="reports"]')).to_contain_text("wait")
    waits = page.locator("tr", has=page.get_by_role("button", name="reports", exact=True)).locator("td").nth(2)
    expect(waits).to_have_text(re.compile(r"\d+ k"))
    assert _fewest(page, ".react-flow__edge", 2.5) == page.locator(".react-flow__edge").count() > 6, "the arcs blink"
    # Where the time of the last steps went; the window of the figures is chosen.
    assert page.locator(".profile g").count() > 3
    page.get_by_label("Length of the window").select_option("2")
    expect(page).to_have_url(re.compile("window=2"))
    # The address brings it all back.
    again = page.url
    assert "open=roads" in again
    page.goto("about:blank")
    page.goto(again)
    expect(page.locator('.react-flow__node[data-id="road_means"]')).to_be_visible()
    page.get_by_role("button", name="Close roads").click()
    expect(boxes).to_have_count(7)


def test_a_closed_group_has_the_sums_of_its_arcs_and_boxes(page: Page, tmp_path: Path) -> None:
    net = Network("halves")
    reports = net.source("reports", {"time": int, "vehicle": int, "road": int, "speed": int})
    with net.composed("halves"):
        slow, fast = reports.filter("slow", "speed <= 60"), reports.filter("fast", "speed > 60")
    slow.union("all", fast).output("out")
    given = {"reports": MemorySource(trains(30))}
    run_locally(net.value, given, {"out": MemorySink()}, tmp_path, Settings(shards=2)).wait()
    shown = Studio(Run(tmp_path)).start()

    def rate(arc: str) -> float:
        return float(page.locator(f'.way-label[data-arc="{arc}"]').get_attribute("data-rate") or 0)

    def pressure(box: str) -> float:
        bar = page.locator(f'.react-flow__node[data-id="{box}"] .pressure')
        return float(bar.get_attribute("data-pressure") or 0)

    try:
        page.goto(f"{shown.address}#/network?window=300")
        closed = page.locator('.react-flow__node[data-id="group:halves"]')
        expect(closed).to_contain_text("group of 2")
        expect(closed).to_contain_text("/s")
        expect(page.locator(".react-flow__edge")).to_have_count(3)
        # Two arcs lead into the group, drawn as one, and two out of it.
        into, out_of = rate("reports.out → slow.in"), rate("slow.out → all.in0")
        assert rate("all.out → out.in") == pytest.approx(out_of)
        assert into == pytest.approx(2 * out_of)
        spent = pressure("group:halves")
        closed.click()
        expect(page.locator('.react-flow__node[data-id="slow"]')).to_be_visible()
        expect(page.locator(".react-flow__edge")).to_have_count(5)
        assert rate("reports.out → slow.in") + rate("reports.out → fast.in") == pytest.approx(into)
        halves = rate("slow.out → all.in0"), rate("fast.out → all.in1")
        assert min(halves) > 0
        assert sum(halves) == pytest.approx(out_of)
        assert pressure("slow") + pressure("fast") == pytest.approx(spent, abs=0.002)
    finally:
        shown.stop()


def test_an_output_shows_its_delay_on_its_graph(page: Page, tmp_path: Path) -> None:
    net = Network("late")
    reports = net.source("reports", {"time": int, "vehicle": int, "road": int, "speed": int})
    reports.output("out", qos=Delay(0.001, 0.02))
    sources = {"reports": MemorySource(trains(30))}
    run_locally(net.value, sources, {"out": MemorySink()}, tmp_path, Settings(shards=1)).wait()
    p99 = json.loads((tmp_path / STATUS_FILE).read_text())["window"]["outputs"]["out"]["p99"]
    shown = Studio(Run(tmp_path)).start()
    try:
        page.goto(f"{shown.address}#/network?box=out")
        plot = page.locator(".graph-plot")
        expect(plot).to_contain_text("dashed: the p99 of the run")
        expect(page.get_by_test_id("box-page")).to_contain_text(re.compile(r"p99 \S+ [mµ]?s, utility"))
        now = float(plot.locator(".now").get_attribute("x1") or 0)
        begin = float(plot.locator(".axis").get_attribute("x1") or 0)
        points = plot.locator("circle").evaluate_all("all => all.map(one => Number(one.getAttribute('cx')))")
        shown_delay = min(p99, 1.15 * 0.02)  # the end of the drawing
        assert now - begin == pytest.approx((points[1] - begin) * shown_delay / 0.02, abs=0.5)
    finally:
        shown.stop()


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
    expect(said).to_contain_text(re.compile(r"out for each in\s*0\.\d"))
    expect(said).to_contain_text(re.compile(r"a tuple costs\s*[\d.]+ (µs|ms)"))
    expect(page.get_by_test_id("paper")).to_have_text("From the papers: Aurora §2.1, thesis §5.4.2")
    expect(said.get_by_role("heading", name="From its documentation")).to_be_visible()
    expect(page.locator(".about")).to_contain_text("A time window begins at a multiple of every")
    expect(page.locator(".about")).to_contain_text("every: the length of a window in time")
    expect(page.get_by_test_id("state-size")).to_contain_text("B")  # bytes, or kB
    expect(page.get_by_test_id("slots").locator("li")).to_have_count(2)  # how even its work is
    rows = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText).join(' ').trim())"
    assert page.get_by_test_id("schema-in").locator("tr").evaluate_all(rows) == [
        "time int64 time", "vehicle int64 key", "road int64", "speed int64",
    ]  # fmt: skip
    assert page.get_by_test_id("schema-out").locator("tr").evaluate_all(rows) == [
        "vehicle int64 key", "time int64 time", "reports int64", "top int64",
    ]  # fmt: skip
    picture(page, "box")


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


def test_what_is_left_out_is_settled_from_the_page(page: Page, tmp_path: Path) -> None:
    net = Network("fast")
    reports = net.source("reports", {"time": int, "vehicle": int, "road": int, "speed": int})
    reports.filter("fast", "speed > 100").output("alerts")
    given = {"reports": MemorySource(trains(3000))}
    run = run_locally(net.value, given, {"alerts": MemorySink()}, tmp_path / "run", Settings(shards=2, interval=0.05))
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?arc=reports.out%20%E2%86%92%20fast.in")
        page.get_by_label("settle later").check()
        page.get_by_role("button", name="Shed").click()
        expect(page.locator(".way-label.marked")).to_contain_text("sheds 50 %")
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_test_id("overflow")).to_contain_text("tuples wait to be settled")
        page.get_by_role("button", name="Settle now").click()
        expect(page.get_by_test_id("overflow")).to_contain_text("answers that came late: alerts")
    finally:
        shown.stop()
        run.stop()


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


def test_a_python_network_is_opened_changed_and_saved(page: Page, tmp_path: Path) -> None:
    shown = Studio(Drawn(traffic())).start()
    try:
        page.goto(f"{shown.address}#/draw?box=slow")
        expect(_editor(page, "predicate")).to_have_text("mean < 70")
        _editor(page, "predicate").fill("mean < 60")
        page.get_by_role("tab", name="Changes").click()
        _shows_line(page, "gone", "mean < 70")
        _shows_line(page, "new", "mean < 60")
        # Boxes that are to fix are not shown as gone.
        page.goto(f"{shown.address}#/draw?box=slow")
        _editor(page, "predicate").fill("mean < ")
        expect(page.get_by_test_id("draft-state")).to_contain_text("to fix")
        page.get_by_role("tab", name="Changes").click()
        expect(page.get_by_test_id("diff")).to_contain_text("when nothing is left to fix")
        page.get_by_role("tab", name="Box").click()
        _editor(page, "predicate").fill("mean < 60")
        page.get_by_role("tab", name="Changes").click()
        _shows_line(page, "new", "mean < 60")
        # Another view, and back: the drawing is still there, and where one was.
        page.get_by_role("button", name="Network").click()
        expect(page.get_by_test_id("canvas")).to_be_visible()
        page.go_back()
        _shows_line(page, "new", "mean < 60")
        page.reload()
        _shows_line(page, "new", "mean < 60")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save Python", exact=True).click()
        saved.value.save_as(tmp_path / "drawn.py")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save JSON", exact=True).click()
        saved.value.save_as(tmp_path / "drawn.json")
        page.get_by_role("button", name="Start over").click()
        page.get_by_role("tab", name="Changes").click()
        expect(page.get_by_text("Nothing is changed.")).to_be_visible()
        page.get_by_label("Open a drawing").set_input_files(tmp_path / "drawn.json")
        page.get_by_role("tab", name="Changes").click()
        _shows_line(page, "new", "mean < 60")
        page.get_by_label("Open a drawing").set_input_files(tmp_path / "drawn.py")
        expect(page.get_by_test_id("draw-message")).to_contain_text("drawn.py is no drawing")
    finally:
        shown.stop()
    scope: dict[str, object] = {}
    exec((tmp_path / "drawn.py").read_text(), scope)
    drawn = Network.from_json((tmp_path / "drawn.json").read_text())
    rows = [row for train in trains(40) for row in train.tuples.to_dicts()]
    given = {"reports": rows}
    mine, theirs = collect(scope["net"], given), collect(drawn, given)  # type: ignore[arg-type]
    assert {name: mine[name].to_dicts() for name in mine} == {name: theirs[name].to_dicts() for name in theirs}
    assert mine["means"].height


def _shows_line(page: Page, kind: str, text: str) -> None:
    """The difference has one line of the kind, once both sides of it have arrived."""
    lines = page.locator(f".diff .{kind}")
    expect(lines).to_have_count(1)
    expect(lines).to_contain_text(text)


@pytest.mark.slow
def test_ports_are_connected_by_dragging_and_types_are_checked(page: Page, sheet: Studio) -> None:
    page.goto(sheet.address)
    palette = page.get_by_role("navigation", name="Boxes")
    palette.get_by_role("button", name="source", exact=True).click()
    page.get_by_label("schema").fill("time int, name str")
    page.locator(".react-flow__pane").click(position={"x": 5, "y": 5})
    page.evaluate("location.hash = '#/draw'")  # nothing is chosen: the next box is fed by nothing
    palette.get_by_role("button", name="filter", exact=True).click()
    _editor(page, "predicate").fill("name > 3")
    expect(page.get_by_test_id("box-error")).to_contain_text("nothing comes to in")
    begin = page.locator('.react-flow__node[data-id="source"] .react-flow__handle.source').first
    end = page.locator('.react-flow__node[data-id="filter"] .react-flow__handle.target')
    begin.drag_to(end)
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    expect(page.get_by_test_id("box-error")).to_contain_text("name")
    _editor(page, "predicate").fill("name = 'a'")
    expect(page.get_by_test_id("box-error")).to_have_count(0)
    palette.get_by_role("button", name="output", exact=True).click()
    expect(page.get_by_test_id("draft-state")).to_have_text("fits")


def test_a_tuple_is_stepped_through_the_boxes(page: Page, studio: Studio) -> None:
    page.goto(f"{studio.address}#/network?arc=reports.out%20%E2%86%92%20fast.in")
    page.get_by_role("button", name="Try a tuple").click()
    page.get_by_label("Tuples as JSON").fill('{"time": 1, "vehicle": 2, "road": 1, "speed": 120}')
    page.get_by_role("button", name="Step through").click()
    hops = page.get_by_test_id("trace").locator(".hops > li")
    expect(hops).to_have_count(1)
    expect(hops.first).to_contain_text("fast")
    expect(page.locator('.react-flow__node[data-id="fast"]')).to_be_visible()  # its group was opened
    for number in (2, 3, 4):
        page.get_by_role("button", name="Next box").click()
        expect(hops).to_have_count(number)
    expect(hops.nth(2)).to_contain_text("got 1 tuple")
    expect(hops.nth(2)).to_contain_text("top 120")
    expect(hops.nth(3)).to_contain_text("alerts")
    page.get_by_label("Tuples as JSON").fill('{"time": "x"}')
    page.get_by_role("button", name="Run it").click()
    expect(page.get_by_role("alert")).to_contain_text("column 'time': expected int64")


def test_an_address_brings_back_place_time_and_selection(page: Page, studio: Studio) -> None:
    page.goto(f"{studio.address}#/network?open=speeding&box=per_ten&window=60")
    expect(page.get_by_test_id("box-page")).to_be_visible()
    _until(lambda: int(page.get_by_test_id("step").inner_text().replace(",", "")) > 20)
    expect(page.locator('.react-flow__node[data-id="per_ten"]')).to_be_visible()
    page.mouse.move(300, 400)
    page.mouse.wheel(0, -300)
    expect(page).to_have_url(re.compile("eye="))
    page.get_by_label("Moment").focus()
    page.keyboard.press("Home")
    expect(page.get_by_test_id("moment")).to_contain_text("step 1 ")
    time.sleep(0.5)
    place = page.locator('.react-flow__node[data-id="per_ten"]').bounding_box()
    again = page.url
    page.goto("about:blank")
    page.goto(again)
    expect(page.get_by_test_id("box-page")).to_contain_text("per_ten")
    expect(page.get_by_test_id("moment")).to_contain_text("step 1 ")
    expect(page.get_by_label("Length of the window")).to_have_value("60")
    node = page.locator('.react-flow__node[data-id="per_ten"]')
    assert place is not None
    _until(lambda: (now := node.bounding_box()) is not None and abs(now["x"] - place["x"]) < 2)
    # It plays on from there, at the pace of the run, and stays where it is told to.
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_test_id("moment")).not_to_contain_text("step 1 ")
    page.get_by_role("button", name="Stay").click()
    stays = page.get_by_test_id("moment").inner_text()
    time.sleep(0.8)
    assert page.get_by_test_id("moment").inner_text() == stays
    page.goto(f"{studio.address}#/ask?place=kept&query=SELECT+time%2C+speed+FROM+kept+WHERE+speed+%3E+128")
    page.reload()
    expect(page.locator(".tuples tbody tr").nth(3)).to_be_visible()


@pytest.mark.slow
def test_bookmarks_are_kept(page: Page, studio: Studio) -> None:
    page.goto(f"{studio.address}#/network?open=roads&box=slow")
    expect(page.get_by_test_id("box-page")).to_contain_text("slow")
    page.keyboard.press("Control+k")
    page.get_by_role("button", name="Bookmark this place").click()
    page.goto("about:blank")
    page.goto(studio.address)
    expect(page.get_by_test_id("canvas")).to_be_visible()
    page.keyboard.press("Control+k")
    search = page.get_by_role("dialog", name="Search")  # a busy box of that name is listed beside it
    search.get_by_role("button", name="slow", exact=True).click()
    expect(page.get_by_test_id("box-page")).to_contain_text("mean < 70")
    page.keyboard.press("Control+k")
    page.get_by_role("button", name="Forget slow").click()
    expect(search.get_by_role("button", name="slow", exact=True)).to_have_count(0)


@pytest.mark.slow
def test_a_query_that_is_too_long_is_said_so_and_nothing_is_lost(page: Page, studio: Studio) -> None:
    page.goto(f"{studio.address}#/ask")
    expect(_editor(page, "SQL")).to_be_visible()
    page.evaluate("history.replaceState(null, '', '#/ask?place=kept&query=' + 'x'.repeat(1100000))")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("too long")
    expect(page.get_by_test_id("state")).to_have_text("running")


@pytest.mark.slow
def test_a_run_that_stands_still_or_is_killed_under_the_page_is_said_so(page: Page, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.studio.traffic", str(tmp_path)]
    process = subprocess.Popen(command)
    shown = None
    try:
        _until(lambda: (tmp_path / "status.json").exists(), 60)
        shown = Studio(Run(tmp_path)).start()
        page.goto(shown.address)
        expect(page.get_by_test_id("state")).to_have_text("running")
        _until(lambda: int(page.get_by_test_id("step").inner_text()) > 3)
        process.send_signal(signal.SIGSTOP)
        expect(page.get_by_test_id("state")).to_contain_text("no step ended for")
        process.kill()
        process.wait()
        expect(page.get_by_test_id("state")).to_have_text("stopped")
        expect(page.get_by_role("alert")).to_contain_text("was killed")
        began = float(page.get_by_label("Moment").get_attribute("min") or 0)
        process = subprocess.Popen(command)
        expect(page.get_by_test_id("state")).to_have_text("running", timeout=60_000)
        # A run without Spark begins from the start: nothing of the one before is shown as its own.
        _until(lambda: float(page.get_by_label("Moment").get_attribute("min") or 0) > began)
    finally:
        process.kill()
        process.wait()
        if shown is not None:
            shown.stop()


@pytest.mark.slow
def test_a_run_that_another_process_takes_up_says_how_often(page: Page, tmp_path: Path) -> None:
    run = live(tmp_path / "run", number=30, interval=0.0)
    run.wait()
    shown = Studio(Run(tmp_path / "run")).start()
    folder = tmp_path / "run" / FOLDER
    try:
        page.goto(shown.address)
        expect(page.get_by_test_id("state")).to_have_text("finished")
        expect(page.get_by_test_id("restarts")).to_have_count(0)
        for words in ("1 restart", "2 restarts"):
            with lock_checkpoint(folder):  # as a process does that goes on with a run
                StatusFile(run.plan, tmp_path / "run" / STATUS_FILE)
                expect(page.get_by_test_id("restarts")).to_have_text(words)
                expect(page.get_by_test_id("state")).to_contain_text("no step ended for")  # it has made no step yet
    finally:
        shown.stop()


@pytest.mark.slow
def test_a_screen_reader_finds_its_way_in_every_view(page: Page, studio: Studio, sheet: Studio) -> None:
    axe = Axe()
    query = "SELECT+road%2C+avg(speed)+AS+mean+FROM+kept+GROUP+BY+road%2C+TUMBLE(time%2C+'10+seconds')"
    places = {
        "network": (f"{studio.address}#/network?open=roads%7Cspeeding", '[data-testid="ranked"]'),
        "box": (f"{studio.address}#/network?open=speeding&box=per_ten", '[data-testid="box-page"]'),
        "arc": (f"{studio.address}#/network?open=speeding&arc={FAST}", ".tuples tbody tr"),
        "ask": (f"{studio.address}#/ask?place=kept&query={query}", ".tuples tbody tr"),
        "draw": (f"{studio.address}#/draw?box=alerts", ".graph-edit .point"),
        "sheet": (sheet.address, ".palette button"),
    }
    found = []
    page.goto(studio.address)
    _until(lambda: int(page.get_by_test_id("step").inner_text().replace(",", "")) > 60, 60)
    for dark in ("light", "dark"):
        page.emulate_media(color_scheme=dark)  # type: ignore[arg-type]
        for name, (address, there) in places.items():
            page.goto("about:blank")
            page.goto(address)
            expect(page.locator(there).first).to_be_visible()
            picture(page, f"studio-{name}" if dark == "light" else f"studio-{name}-dark")
            said = axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
            if said.violations_count:
                found.append(f"{dark} {address}\n{said.generate_report()}")
            page.set_viewport_size({"width": 820, "height": 1180})
            page.wait_for_timeout(300)
            if (wide := page.evaluate("document.documentElement.scrollWidth")) > 820:
                found.append(f"{address} is {wide} pixels wide on a tablet")
            page.set_viewport_size({"width": 1280, "height": 800})
    assert not found, "\n\n".join(found)


def test_why_names_the_causes_of_a_row(page: Page, tmp_path: Path) -> None:
    net = Network("speeding")
    reports = net.source("reports", {"time": int, "vehicle": int, "speed": int})
    reports.filter("fast", "speed > 100").group_by("vehicle").tumble(
        "per_minute", every=60, reports="count(*)", top="max(speed)"
    ).output("alerts")
    lines = ["time,vehicle,speed", "1,7,90", "2,7,120", "3,8,130", "61,7,110", "200,9,0"]
    (tmp_path / "reports.csv").write_text("\n".join(lines) + "\n")
    sources = {"reports": FileSource(tmp_path / "reports.csv")}
    run = run_locally(net.value, sources, {"alerts": MemorySink()}, tmp_path / "out" / "local")
    run.wait()
    write_record(tmp_path / "out", "speeding.py:net", net.value, sources)
    shown = Studio(Run(tmp_path / "out")).start()
    try:
        page.goto(f"{shown.address}#/network?box=alerts")
        _editor(page, "A row of alerts").fill("vehicle = 7 and time = 59")
        page.get_by_role("button", name="Why?").click()
        said = page.get_by_test_id("why")
        expect(said).to_contain_text("the window from 0 through 59 of vehicle = 7, 1 tuple")
        expect(said).to_contain_text("reports: time 2 · vehicle 7 · speed 120 needed")
        expect(said).not_to_contain_text("speed 130")
        said.evaluate("one => one.scrollIntoView({block: 'end'})")
        picture(page, "studio-why")
        _editor(page, "A row of alerts").fill("time > 0")
        page.get_by_role("button", name="Why?").click()
        expect(page.get_by_role("alert")).to_contain_text("3 rows")
    finally:
        shown.stop()


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
        expect(page.get_by_test_id("resting")).to_contain_text("12 boxes, 11 arcs")
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(15, 20, 26)"
        # Tuples can be tried before anything runs.
        page.goto(f"{shown.address}#/network?open=speeding&arc={FAST}")
        page.get_by_role("button", name="Try a tuple").click()
        expect(page.get_by_label("Tuples as JSON")).to_have_value('{"time":0,"vehicle":0,"road":0,"speed":0}')
        page.get_by_role("button", name="Run it").click()
        expect(page.get_by_test_id("trace").locator(".hops > li")).to_have_count(3)
    finally:
        shown.stop()


def _fewest(page: Page, selector: str, seconds: float) -> int:
    """How many there are in the frame with the fewest of them."""
    script = """([selector, seconds]) => new Promise(done => {
        const end = performance.now() + 1000 * seconds;
        let fewest = Infinity;
        const look = () => {
            fewest = Math.min(fewest, document.querySelectorAll(selector).length);
            performance.now() < end ? requestAnimationFrame(look) : done(fewest);
        };
        look();
    })"""
    found: int = page.evaluate(script, [selector, seconds])
    return found


def _until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    patience = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < patience
        time.sleep(0.05)
