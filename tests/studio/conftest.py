"""A run that lasts, a studio that shows it, and a real browser, once for all tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from arterial.engine.run.local import LocalRun
from arterial.studio.server import Studio
from arterial.studio.subject import Run
from tests.studio.traffic import live

ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-sandbox",
    "--disable-gpu-compositing",
]
PATIENCE = 30_000
"""So many milliseconds a page may take to show something, on a busy machine."""


def find_browser() -> str | None:
    """The system's Chromium: the one in CHROME, or in PATH."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROME") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """A run of the traffic network that goes on until the tests are over."""
    run = live(tmp_path_factory.mktemp("run"))
    yield run
    run.stop()


@pytest.fixture(scope="module")
def studio(running: LocalRun) -> Iterator[Studio]:
    """The studio on it."""
    shown = Studio(Run(Path(running.checkpoint))).start()
    yield shown
    shown.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium is installed here (apt-get install chromium), and CHROME names none")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


def picture(page: Page, name: str) -> None:
    """A picture of a view for the docs, if ARTERIAL_SCREENSHOTS names a folder."""
    if folder := os.environ.get("ARTERIAL_SCREENSHOTS"):
        page.wait_for_timeout(500)
        page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page on which an error of its script, or one in its console, fails the test.

    ARTERIAL_SCREENSHOTS names a folder for a picture of each test's end.
    """
    # What moves is painted 60 times a second, by the processor here.
    size = {"width": 1280, "height": 800}
    context = browser.new_context(viewport=size, accept_downloads=True, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    elsewhere: list[str] = []
    own = ("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:", "about:")
    page.on("request", lambda asked: None if asked.url.startswith(own) else elsewhere.append(asked.url))
    yield page
    picture(page, request.node.name)
    context.close()
    assert elsewhere == [], "the page loads something from elsewhere"
    # A studio that a test has stopped is looked for again; a mistake of the user's is answered with a 400.
    expected = ("ERR_CONNECTION_REFUSED", "status of 400")
    assert [error for error in errors if not any(words in error for words in expected)] == []


def until_step(page: Page, step: int) -> None:
    """Wait until the page shows this step of the run, or a later one."""
    page.wait_for_function(
        "step => Number(document.querySelector('[data-testid=step]').innerText.replaceAll(',', '')) >= step", arg=step
    )
