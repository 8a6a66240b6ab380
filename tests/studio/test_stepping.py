"""Stepping never changes results: a run that was stepped through from the page gives what a calm one gives."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Page, expect

from arterial.engine.run.local import LocalRun
from arterial.sql.attach import attach
from arterial.studio.server import Studio
from arterial.studio.subject import Run
from tests.studio.traffic import live

pytestmark = pytest.mark.thorough

NUMBER = 40
ARC = "fast.out%20%E2%86%92%20by_vehicle.in"


def _results(run: LocalRun, folder: Path) -> dict[str, pl.DataFrame]:
    """All that a run leaves: its outputs, in their order, and what its connection point keeps."""
    kept = attach(folder, "kept").collect()["answer"]
    return {**run.outputs, "kept": kept}


def test_a_run_that_was_stepped_through_gives_what_a_calm_one_gives(page: Page, tmp_path: Path) -> None:
    calm = live(tmp_path / "calm", number=NUMBER, interval=0.0)
    calm.wait()
    run = live(tmp_path / "run", number=NUMBER, interval=0.25)  # a busy machine takes seconds to show the page
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?open=speeding&arc={ARC}")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_test_id("state")).to_have_text("paused")
        # A train at a time, seen by a monitor.
        for _ in range(5):
            step = run.status.step
            page.get_by_role("button", name="Step ▸|").click()
            expect(page.get_by_test_id("step")).to_have_text(f"{step + 1:,}")
        expect(page.locator(".tuples tbody tr").first).to_be_visible()
        # Tuples of one's own, from box to box, go into a copy.
        page.get_by_role("button", name="Try a tuple").click()
        page.get_by_label("Tuples as JSON").fill('{"time": 3, "vehicle": 1, "road": 1, "speed": 999}')
        page.get_by_role("button", name="Step through").click()
        page.get_by_role("button", name="Next box").click()
        expect(page.get_by_test_id("trace")).to_contain_text("top 999")
        # A breakpoint goes on train by train until it is hit.
        page.locator('.cm-content[aria-label="Only tuples for which this is true"]').fill("speed = 129")
        page.get_by_role("button", name="Break here").click()
        expect(page.get_by_test_id("monitor-message")).to_contain_text("stopped behind step")
        stopped = run.status.step
        assert stopped < NUMBER
        time.sleep(0.3)
        assert run.status.step == stopped
        page.get_by_role("button", name="Resume").click()
        assert run.wait(120)
        expect(page.get_by_test_id("state")).to_have_text("finished")
        stepped, undisturbed = _results(run, tmp_path / "run"), _results(calm, tmp_path / "calm")
        assert stepped.keys() == undisturbed.keys() == {"alerts", "means", "jams_found", "kept"}
        for name, rows in undisturbed.items():
            assert rows.height > 10 or name == "jams_found", name  # no road is slow enough
            assert stepped[name].equals(rows), name
    finally:
        shown.stop()
        run.stop()
