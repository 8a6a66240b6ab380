"""`make studio` and the end of `make demo`: each opens a page that shows what it says, and leaves nothing behind."""

from __future__ import annotations

import re
import runpy
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from arterial import attach
from tests.studio.conftest import picture

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
MINUTES = 300_000
"""So many milliseconds for what starts Spark, on a machine that does other things too."""

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@contextmanager
def _started(command: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that opens the studio, and the address that it prints."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        said = ""
        while not (found := re.search(r"http://\S+", said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        yield process, found[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _below(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = re.search(r"^PPid:\t(\d+)$", status.read_text(), re.MULTILINE)
        except OSError:
            continue
        if parent and int(parent[1]) == pid:
            child = int(status.parent.name)
            found += [child, *_below(child)]
    return found


def _alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_make_studio_shows_a_live_city_with_an_accident_and_ends_all_it_started(page: Page, tmp_path: Path) -> None:
    begun = time.monotonic()
    command = [sys.executable, str(EXAMPLES / "studio.py"), "--no-browser", "--port", "0"]
    with _started(command, tmp_path) as (process, address):
        page.goto(address)
        expect(page.get_by_test_id("accidents")).to_contain_text("Expressway 0 eastbound, segment 35", timeout=MINUTES)
        seconds = time.monotonic() - begun
        expect(page.get_by_test_id("state")).to_have_text("running")
        shown = page.get_by_test_id("city-time").inner_text()
        expect(page.get_by_test_id("city-time")).not_to_have_text(shown)  # it goes on
        # A driver who was quoted much, in the first three minutes: why?
        notices = attach(tmp_path / "out" / "studio" / "answers", "kept_notices", up_to=179).collect()["answer"]
        page.get_by_role("button", name="⚠ Expressway 0 eastbound, segment 35").click()
        page.get_by_label("Find a vehicle").fill(str(notices.sort("toll", "time")["vid"][-1]))
        page.get_by_role("button", name="Find", exact=True).click()
        page.get_by_test_id("card").get_by_role("button", name="Why was").first.click()
        expect(page.get_by_test_id("vehicle-why")).to_contain_text("rule", timeout=MINUTES)
        picture(page, "studio-city")
        started = _below(process.pid)
        assert len(started) > 3  # the run, its Java and its workers; the studio
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
        patience = time.monotonic() + 30
        while left := [pid for pid in started if _alive(pid)]:
            assert time.monotonic() < patience, left
            time.sleep(0.1)
    print(f"\nmake studio: an accident on the page after {seconds:.0f} s")


def test_the_command_that_the_demo_offers_opens_the_run_it_made(page: Page, tmp_path: Path) -> None:
    demo = runpy.run_path(str(EXAMPLES / "demo.py"))
    for _, words in demo["STEPS"]:
        made = words.split()[0]
        if made in ("simulate", "history", "run"):  # the others only look; and a busy machine may be judged too slow
            command = [sys.executable, "-m", "arterial", "linear-road", *shlex.split(words)]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    offered = [*shlex.split(demo["studio"]()), "--no-browser", "--port", "0"]
    with _started(offered, tmp_path) as (process, address):
        page.goto(address)
        expect(page.get_by_test_id("state")).to_have_text("finished")
        expect(page.locator(".react-flow__node").first).to_be_visible()
        expect(page.get_by_test_id("ranked")).to_be_visible()
        process.send_signal(signal.SIGINT)
        process.wait(60)
