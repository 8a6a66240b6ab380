"""A network of 500 boxes: what is not seen is not drawn, what stays is not drawn again, and the closer, the more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Page, expect

from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train
from arterial.studio.server import Studio
from arterial.studio.subject import Drawn, Run
from tests.studio.conftest import picture, until_step

pytestmark = pytest.mark.thorough

BOXES = 500
FRAMES = 40
STEPS = 10


def large() -> NetworkValue:
    """A source, and many chains of filters behind it, each with its output."""
    net = Network("large")
    source = net.source("reports", {"time": int, "speed": int})
    number = 1
    while number < BOXES:
        stream = source
        for _ in range(min(18, BOXES - number - 1)):
            stream = stream.filter(f"faster_{number}", f"speed > {number}")
            number += 1
        stream.output(f"out_{number}")
        number += 1
    assert len(net.value.boxes) == BOXES
    return net.value


@pytest.fixture(scope="module")
def shown() -> Iterator[Studio]:
    """The studio on it."""
    shown = Studio(Drawn(large())).start()
    yield shown
    shown.stop()


# Drags what is seen, a little in each frame. Counts the boxes that are there, those that are seen, those that
# came, and those that were there and were drawn again; the rest of the page may do as it likes.
PAN = """frames => new Promise(done => {
    const pane = document.querySelector('.react-flow__pane');
    const room = document.querySelector('.react-flow').getBoundingClientRect();
    const found = {most: 0, unseen: 0, redrawn: 0, came: 0, moved: 0};
    const watch = new MutationObserver(list => {
        for (const one of list) {
            const target = one.target.nodeType === 1 ? one.target : one.target.parentElement;
            const boxes = target?.classList.contains('react-flow__nodes');
            if (boxes && one.type === 'childList') found.came += one.addedNodes.length;
            else if (target?.closest('.react-flow__node .box')) found.redrawn++;
        }
    });
    const all = {subtree: true, childList: true, attributes: true, characterData: true};
    watch.observe(document.querySelector('.react-flow__nodes'), all);
    const before = document.querySelector('.react-flow__viewport').style.transform;
    let left = frames;
    const look = () => {
        const nodes = [...document.querySelectorAll('.react-flow__node')];
        const seen = nodes.filter(one => {
            const box = one.getBoundingClientRect();
            return box.right > room.left && box.left < room.right && box.bottom > room.top && box.top < room.bottom;
        });
        found.most = Math.max(found.most, nodes.length);
        found.unseen = Math.max(found.unseen, nodes.length - seen.length);
    };
    const frame = () => {
        if (left % 10 === 0) look(); // it takes time itself
        if (left-- > 0) {
            const where = {clientX: room.left + 300, clientY: room.top + 300, bubbles: true, cancelable: true};
            window.dispatchEvent(new MouseEvent('mousemove', {...where, clientX: where.clientX - 4 * (frames - left)}));
            requestAnimationFrame(frame);
        } else {
            watch.disconnect();
            found.moved = document.querySelector('.react-flow__viewport').style.transform === before ? 0 : 1;
            done(found);
        }
    };
    const begin = {clientX: room.left + 300, clientY: room.top + 300, bubbles: true, cancelable: true, view: window};
    pane.dispatchEvent(new MouseEvent('mousedown', begin));
    requestAnimationFrame(frame);
})"""


# Counts, until so many steps have passed, which boxes and arcs come, go, or change in any way.
WATCH = """steps => new Promise(done => {
    const step = () => Number(document.querySelector('[data-testid=step]').innerText.replaceAll(',', ''));
    const found = {came: 0, changed: 0, steps: 0};
    const watch = new MutationObserver(list => {
        const changed = new Set();
        for (const one of list) {
            const target = one.target.nodeType === 1 ? one.target : one.target.parentElement;
            if (target?.matches('.react-flow__nodes, .react-flow__edges') && one.type === 'childList') {
                found.came += one.addedNodes.length;
            }
            const drawn = target?.closest('.react-flow__node, .react-flow__edge, .way-label');
            if (drawn) changed.add(drawn);
        }
        found.changed += changed.size;
    });
    const all = {subtree: true, childList: true, attributes: true, characterData: true};
    watch.observe(document.querySelector('.react-flow__viewport'), all);
    const begun = step();
    const look = () => {
        found.steps = step() - begun;
        if (found.steps < steps) return setTimeout(look, 50);
        watch.disconnect();
        done(found);
    };
    look();
})"""


class Script:
    """How much script a page runs, by its own clock."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")

    def seconds(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "ScriptDuration"))


def _pan(page: Page) -> dict[str, Any]:
    """What a pan does, and its script time for each frame, which is reported and not asserted."""
    script = Script(page)
    before = script.seconds()
    found: dict[str, Any] = page.evaluate(PAN, FRAMES)
    found["ms"] = 1000 * (script.seconds() - before) / FRAMES
    page.mouse.up()
    return found


@pytest.mark.slow
def test_what_is_not_seen_is_not_drawn_and_panning_draws_no_box_again(page: Page, shown: Studio) -> None:
    page.goto(f"{shown.address}#/network?eye=1500,1500,1")
    expect(page.locator(".react-flow__node").first).to_be_visible()
    near = _pan(page)
    print(f"\nnear: {near['most']} of {BOXES} boxes drawn, {near['ms']:.1f} ms of script a frame")
    assert near["moved"]
    assert 5 < near["most"] < 60
    assert near["unseen"] <= 12, "boxes are drawn that are not seen"
    assert near["redrawn"] == 0, "panning draws boxes again"
    assert near["came"] <= 60
    page.goto("about:blank")
    page.goto(shown.address)
    expect(page.locator(".react-flow__node")).to_have_count(BOXES)
    picture(page, "large")
    far = _pan(page)
    print(f"far: {far['most']} of {BOXES} boxes drawn, {far['ms']:.1f} ms of script a frame")
    assert far["moved"]
    assert far["redrawn"] == 0, "panning draws boxes again"


@pytest.mark.slow
def test_live_figures_draw_only_what_they_change(page: Page, tmp_path: Path) -> None:
    net = large()
    # The same each second: figures come, and most of what is seen of them stays as it is.
    trains = [Train(pl.DataFrame({"time": [one] * 40, "speed": range(40)}), one) for one in range(2000)]
    trains[-1] = Train(trains[-1].tuples, END)
    sinks = {name: MemorySink() for name in net.output_names}
    settings = Settings(shards=1, interval=0.3, train_size=40)
    run = run_locally(net, {"reports": MemorySource(trains)}, sinks, tmp_path / "run", settings)
    shown = Studio(Run(tmp_path / "run")).start()
    try:
        page.goto(f"{shown.address}#/network?window=60")
        expect(page.locator(".react-flow__node")).to_have_count(BOXES)
        until_step(page, 8)
        script = Script(page)
        for where, most in (("far", BOXES // 2), ("near", 200)):
            if where == "near":
                page.goto(f"{shown.address}#/network?window=60&eye=1500,1500,1")
                expect(page.locator(".react-flow__node .near").first).to_be_visible()
                page.wait_for_timeout(500)
            before = script.seconds()
            found = page.evaluate(WATCH, STEPS)
            each = 1000 * (script.seconds() - before) / found["steps"]
            changed = found["changed"] / found["steps"]
            print(f"\n{where}: {each:.0f} ms of script a step, {changed:.0f} boxes and arcs changed a step")
            assert found["came"] == 0, "new figures make new boxes or arcs"
            assert changed <= most, "new figures draw again what looks the same"
        # Meanwhile it can be moved as if nothing ran.
        assert _pan(page)["moved"]
    finally:
        shown.stop()
        run.stop()


def test_the_closer_one_is_the_more_is_shown(page: Page, shown: Studio) -> None:
    for zoom, detail, kind, said in ((0.4, "far", 0, 0), (0.8, "nearer", 1, 0), (1.2, "near", 1, 1)):
        page.goto("about:blank")
        page.goto(f"{shown.address}#/network?eye=1500,1500,{zoom}")
        box = page.locator(".react-flow__node .shape-box").first
        expect(box).to_be_visible()
        expect(box).to_have_class(f"box {detail} shape-box level-0")
        expect(box.locator(".title")).to_contain_text("faster_")
        expect(box.locator(".kind")).to_have_count(kind)
        expect(box.locator(".said")).to_have_count(said)
    expect(box.locator(".said")).to_contain_text("speed > ")
    picture(page, "large-near")
