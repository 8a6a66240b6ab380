"""Every row of an output that the page shows can be asked why, wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from starlette.testclient import TestClient

from arterial.causes.local_record import write_record
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.studio.app import make_app
from arterial.studio.server import Studio
from arterial.studio.subject import Run
from tests.studio.conftest import picture

FIRST = 2**53 + 1
"""The number of the first vehicle: one that JavaScript cannot hold."""


def _start(folder: Path, rows: int, interval: float) -> tuple[Path, object]:
    net = Network("speeding")
    reports = net.source("reports", {"time": int, "vehicle": int, "speed": int})
    fast = reports.filter("fast", "speed > 100")
    fast.connection_point("kept", "1 hour")
    fast.output("alerts")
    fast.map("named", vehicle="vehicle").output("names")
    lines = ["time,vehicle,speed", *(f"{place},{FIRST + place % 50},{80 + place % 41}" for place in range(rows))]
    (folder / "reports.csv").write_text("\n".join(lines) + "\n")
    sources = {"reports": FileSource(folder / "reports.csv")}
    sinks = {"alerts": MemorySink(), "names": MemorySink()}
    settings = Settings(shards=1, train_size=20, interval=interval)
    run = run_locally(net.value, sources, sinks, folder / "out" / "local", settings)
    write_record(folder / "out", "speeding.py:net", net.value, sources)
    return folder / "out", run


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A run that lasts, and can be asked why."""
    folder, run = _start(tmp_path_factory.mktemp("why"), 12_000, 0.5)
    shown = Studio(Run(folder)).start()
    yield shown
    shown.stop()
    run.stop()  # type: ignore[attr-defined]


def _ask(page: Page, table: Locator) -> None:
    """Ask about the first row of a table; the answer names the one report that it goes back to."""
    first = table.locator("tbody tr").first
    expect(first).to_be_visible()
    bare = (
        "rows => rows.filter(row => ![...row.querySelectorAll('button')].some(one => one.innerText === 'Why')).length"
    )
    assert table.locator("tbody tr").evaluate_all(bare) == 0, "every row has a button"
    first.get_by_role("button", name="Why").click()
    said = page.get_by_test_id("why")
    expect(said).to_contain_text("needed")
    asked = said.locator("p code").first.inner_text()  # time 1 · vehicle 2 · speed 3
    causes = said.locator("li", has_text="Tuples of the sources").locator("code")
    expect(causes).to_contain_text(f"reports: {asked} needed")


@pytest.mark.thorough
@pytest.mark.parametrize("arc", ["fast.out → alerts.in", "fast.out → named.in"])
def test_a_row_of_a_monitor_whose_stream_is_that_of_an_output(page: Page, live: Studio, arc: str) -> None:
    page.goto(f"{live.address}#/network?arc={arc}")
    monitor = page.get_by_test_id("monitor")
    expect(monitor.locator("tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Hold the table").click()
    _ask(page, monitor.get_by_role("region", name="Tuples"))


@pytest.mark.thorough
def test_the_rows_of_an_output(page: Page, live: Studio) -> None:
    page.goto(f"{live.address}#/network?box=alerts")
    _ask(page, page.get_by_test_id("output-rows").get_by_role("region", name="Tuples"))
    picture(page, "output-rows")


@pytest.mark.slow
def test_rows_of_an_ad_hoc_query_that_are_those_of_an_output(page: Page, live: Studio) -> None:
    page.goto(f"{live.address}#/ask?place=kept&query=SELECT+*+FROM+kept+WHERE+speed+%3E+110")
    expect(page.locator(".answer tbody tr").nth(2)).to_be_visible()
    page.get_by_role("button", name="Detach").click()
    _ask(page, page.locator(".answer .tuples"))
    picture(page, "ask-why")
    # A row that is computed belongs to no output.
    page.goto(f"{live.address}#/ask?place=kept&query=SELECT+time%2C+speed+*+2+AS+twice+FROM+kept")
    page.reload()
    expect(page.locator(".answer tbody tr").nth(2)).to_be_visible()
    expect(page.locator(".answer").get_by_role("button", name="Why")).to_have_count(0)


@pytest.mark.thorough
def test_where_several_rows_fit_they_are_listed_and_one_is_chosen(page: Page, tmp_path: Path) -> None:
    folder, run = _start(tmp_path, 200, 0.0)
    assert run.wait(60)  # type: ignore[attr-defined]
    shown = Studio(Run(folder)).start()
    try:
        page.goto(f"{shown.address}#/network?box=alerts")
        page.locator('.cm-content[aria-label="A row of alerts"]').fill("speed > 118")
        page.get_by_role("button", name="Why?").click()
        expect(page.get_by_role("alert")).to_contain_text("8 rows with speed > 118")
        rows = page.get_by_test_id("why").locator("tbody tr")
        expect(rows).to_have_count(8)
        rows.nth(2).get_by_role("button", name="Why").click()
        expect(page.get_by_test_id("why")).to_contain_text(
            f"reports: time 80 · vehicle {FIRST + 30} · speed 119 needed"
        )
        # A row that was thought of is not there.
        page.locator('.cm-content[aria-label="A row of alerts"]').fill("speed > 1000")
        page.get_by_role("button", name="Why?").click()
        expect(page.get_by_role("alert")).to_contain_text("no row with speed > 1000")
    finally:
        shown.stop()


def test_several_rows_are_given_as_a_page_holds_them(tmp_path: Path) -> None:
    folder, run = _start(tmp_path, 200, 0.0)
    assert run.wait(60)  # type: ignore[attr-defined]
    client = TestClient(make_app(Run(folder)), base_url="http://localhost")
    said = client.post("/api/why", json={"output": "alerts", "where": "speed > 119"})
    assert said.status_code == 400
    rows = said.json()["rows"]
    assert rows[0] == {"time": 40, "vehicle": str(FIRST + 40), "speed": 120}
    assert len(rows) == 4
    one = client.post("/api/why", json={"output": "alerts", "row": rows[0]}).json()
    assert [found["values"] for found in one["tuples"] if found.get("needed")] == [rows[0]]
