"""What an arc monitor saves: the very tuples that passed, as CSV and as Parquet, whatever their types."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.settings import Settings
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train
from arterial.studio.app import make_app
from arterial.studio.server import Studio
from arterial.studio.subject import Drawn, Run
from tests.studio.conftest import until_step

ARC = "notes.out → told.in"
ROWS: list[dict[str, Any]] = [
    {"time": datetime(2026, 1, 1, 8, 0, 1), "id": 2**53 + 1, "words": 'said "no, never"', "share": 0.1, "sure": True},
    {"time": datetime(2026, 1, 1, 8, 0, 2), "id": 7, "words": "two\nlines", "share": 1e-9, "sure": False},
    {"time": datetime(2026, 1, 1, 8, 0, 3), "id": -1, "words": "", "share": None, "sure": None},
    {"time": datetime(2026, 1, 1, 8, 0, 4, 500), "id": None, "words": None, "share": 1e300, "sure": True},
]


def notes() -> NetworkValue:
    """A source with a column of each type, and its output."""
    net = Network("notes")
    types = {"time": "timestamp", "id": int, "words": str, "share": float, "sure": bool}
    net.source("notes", types).output("told")
    return net.value


def _paused_run(folder: Path) -> LocalRun:
    """A train for each of the rows, then the last of them again and again."""
    schema = notes().streams[notes().arcs[0].begin].schema.polars()
    rows = [*ROWS, *({**ROWS[-1], "time": datetime(2026, 1, 1, 9)} for _ in range(3000))]
    trains = [Train(pl.DataFrame([row], schema=schema), _micros(row["time"])) for row in rows]
    trains[-1] = Train(trains[-1].tuples, END)
    settings = Settings(shards=1, interval=0.1, train_size=1)
    run = run_locally(notes(), {"notes": MemorySource(trains)}, {"told": MemorySink()}, folder, settings)
    run.pause()
    return run


def _micros(time: datetime) -> int:
    return (time - datetime(1970, 1, 1)) // timedelta(microseconds=1)


@pytest.mark.thorough
def test_a_monitor_is_held_and_saved_as_csv_and_parquet(page: Page, tmp_path: Path) -> None:
    run = _paused_run(tmp_path / "run")
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?arc=notes.out%20%E2%86%92%20told.in")
        expect(page.get_by_test_id("state")).to_have_text("paused")
        expect(page.get_by_test_id("monitor")).to_be_visible()
        page.wait_for_timeout(500)  # its tap is there
        before = run.outputs["told"].height
        page.get_by_role("button", name="Resume").click()
        rows = page.locator(".tuples tbody tr")
        expect(rows.nth(len(ROWS))).to_be_visible()
        page.get_by_role("button", name="Hold the table").click()
        seen, step = rows.count(), run.status.step
        until_step(page, step + 5)
        assert rows.count() == seen, "a held table stands still; the run goes on"
        with page.expect_download() as saved:
            page.get_by_role("button", name="CSV").click()
        lines = list(csv.reader(io.StringIO(saved.value.path().read_text(), newline="")))
        with page.expect_download() as saved:
            page.get_by_role("button", name="Parquet").click()
        frame = pl.read_parquet(saved.value.path())
        passed = run.outputs["told"].slice(before, seen)
        assert frame.schema == passed.schema
        assert frame.to_dicts() == passed.to_dicts()
        assert lines[0] == passed.columns
        assert [[_read(kind, cell) for kind, cell in zip(passed.dtypes, line, strict=True)] for line in lines[1:]] == [
            [None if value == "" else value for value in row] for row in passed.rows()
        ]
        page.get_by_role("button", name="Go on").click()
        expect(rows.nth(seen)).to_be_visible()
    finally:
        shown.stop()
        run.stop()


def _read(kind: pl.DataType, cell: str) -> Any:
    if cell == "":
        return None
    if kind == pl.String:
        return cell
    if kind == pl.Boolean:
        return {"true": True, "false": False}[cell]
    if isinstance(kind, pl.Datetime):
        return datetime.fromisoformat(cell)
    return int(cell) if kind.is_integer() else float(cell)


def test_a_whole_number_that_a_page_cannot_hold_comes_as_text_and_is_exact() -> None:
    client = TestClient(make_app(Drawn(notes())), base_url="http://localhost")
    row = {"time": "2026-01-01T08:00:01", "id": str(2**53 + 1), "words": "", "share": "inf", "sure": None}
    answer = client.post("/api/sample/parquet", json={"arc": ARC, "rows": [row]})
    assert answer.status_code == 200, answer.text
    found = pl.read_parquet(answer.content).to_dicts()
    assert found == [{**row, "time": datetime(2026, 1, 1, 8, 0, 1), "id": 2**53 + 1, "share": float("inf")}]
    for wrong in (1.5, "1.5", "x", [1]):
        answer = client.post("/api/sample/parquet", json={"arc": ARC, "rows": [{**row, "id": wrong}]})
        assert "column 'id': expected int64" in answer.json()["detail"]
