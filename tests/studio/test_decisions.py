"""What is decided about a run, on the page: the drop plan, what outputs miss by it, and what the optimizer changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from arterial import Delay, Network, QoS
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.settings import Settings
from arterial.engine.run.versions.requests import OPTIMISE, ask
from arterial.engine.steering import control
from arterial.figures.steering import Drop
from arterial.studio.server import Studio
from arterial.studio.subject import Run
from tests.studio.conftest import picture
from tests.studio.traffic import trains

pytestmark = pytest.mark.thorough

TO_MORE = "reports.out → more.in"
TO_MEANS = "by_road.out → means.in"


def _live(folder: Path) -> LocalRun:
    """A Map that had better be behind the Filter, and windows beside them."""
    net = Network("decided")
    reports = net.source("reports", {"time": int, "vehicle": int, "road": int, "speed": int})
    fast = reports.map("more", mph="speed * 2237 / 1000").filter("fast", "speed > 100")
    fast.output("alerts", qos=QoS(Delay(2, 10), share=[(0, 0), (1, 1)]))
    reports.group_by("road", name="by_road").tumble("means", every="10 seconds", mean="avg(speed)").output("roads")
    sinks = {name: MemorySink() for name in ("alerts", "roads")}
    return run_locally(net.value, {"reports": MemorySource(trains(3000))}, sinks, folder, Settings(interval=0.05))


def test_the_drop_plan_says_why_and_each_output_what_it_misses(page: Page, tmp_path: Path) -> None:
    run = _live(tmp_path / "run")
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(shown.address)
        plan = page.get_by_test_id("drop-plan")
        expect(plan).to_contain_text("Nothing is left out or held.")
        folder = tmp_path / "run" / "arterial"
        control.shed(folder, TO_MORE, Drop(0.4, overflow=True))
        control.hold(folder, TO_MEANS, 0)
        expect(plan).to_contain_text("Leaves out 40 %; what is left out is settled later")
        expect(plan).to_contain_text(re.compile(r"left out so far\."))
        expect(plan).to_contain_text("Reason: a command; alerts misses it: a share of 60 % is worth 0.60")
        expect(plan).to_contain_text("Held.Reason: a command; roads waits for it")
        expect(page.get_by_test_id("losses-alerts")).to_contain_text(
            re.compile("left out before it, [0-9.k ,]+ wait to be settled")
        )
        worth = page.locator("tr", has=page.get_by_role("button", name="alerts", exact=True)).locator("td").last
        expect(worth).to_have_class("bad")  # answers come in time, but not all of them
        expect(page.get_by_test_id("losses-roads")).to_contain_text(re.compile("^[0-9.k ,]+ held$"))
        picture(page, "drop-plan")
        # The page of each output says the same, and what was settled.
        page.get_by_test_id("drop-plan").get_by_role("button", name="alerts", exact=True).click()
        missed = page.get_by_test_id("losses")
        expect(missed).to_contain_text(re.compile("held0to be settled[1-9]"))
        picture(page, "output")
        control.shed(folder, TO_MORE, None)
        page.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Settle now").click()
        expect(page.get_by_test_id("losses-alerts")).to_contain_text("settled late")
        page.goto(f"{shown.address}#/network?box=roads")
        expect(missed).to_contain_text(re.compile("left out0left out now0/sheld[1-9]"))
        run.pause()
        expect(page.get_by_test_id("state")).to_have_text("paused")
        page.goto(f"{shown.address}#/network?box=alerts")
        expect(missed).to_contain_text(re.compile("to be settled0settled late[1-9]"))  # all of it
        late = run.settled("alerts").height
        expect(missed).to_contain_text(f"to be settled0settled late{late:,}")
        assert late > 0
    finally:
        shown.stop()
        run.stop()


def test_what_the_optimizer_changed_is_said_with_its_reason(page: Page, tmp_path: Path) -> None:
    run = _live(tmp_path / "run")
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(shown.address)
        said = page.get_by_test_id("optimizer")
        expect(said).to_contain_text("It has changed nothing.")
        expect(page.get_by_test_id("step")).to_have_text(re.compile("^[1-9]"))
        assert ask(tmp_path / "run", OPTIMISE).accepted
        expect(said).to_contain_text("version 2, after step")
        expect(said).to_contain_text("because of fast:")
        expect(said).to_contain_text("% through")
        expect(said).to_contain_text("instead of")
        expect(said).to_contain_text("came:")  # some steps later
        # The drawing is that of the version that runs.
        page.goto(f"{shown.address}#/network?box=more")
        expect(page.get_by_test_id("schema-in")).to_contain_text("from fast")
    finally:
        shown.stop()
        run.stop()
