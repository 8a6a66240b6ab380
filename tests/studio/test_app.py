"""What a page can ask: of a run, of a network, live, and with nonsense."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from arterial.causes.local_record import write_record
from arterial.connectors.files.source import FileSource
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.figures.status import read_status
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.steering import control
from arterial.network.train import END, Train
from arterial.sql.attach import attach
from arterial.studio.app import make_app
from arterial.studio.frames import pack, pack_rows
from arterial.studio.subject import Drawn, Run
from tests.studio.traffic import live, traffic

ARC = "fast.out → by_vehicle.in"


@pytest.fixture(scope="module")
def client(running: LocalRun) -> Iterator[TestClient]:
    with TestClient(make_app(Run(Path(running.checkpoint))), base_url="http://localhost") as client:
        yield client


def frame(socket: WebSocketTestSession) -> tuple[int, dict[str, Any]]:
    """The channel and header of the next frame; the columns are put into the header."""
    content = socket.receive_bytes()
    channel = int.from_bytes(content[:4], "little", signed=True)
    return channel, unpacked(content[8:])


def unpacked(content: bytes) -> dict[str, Any]:
    length = int.from_bytes(content[:4], "little")
    said: dict[str, Any] = json.loads(content[4 : 4 + length])
    kinds = {"f8": np.float64, "f4": np.float32, "i4": np.int32, "u1": np.uint8}
    for name, (kind, offset, count) in said.pop("columns").items():
        assert (4 + length + offset) % 8 == 0
        said.setdefault("texts", {})[name] = np.frombuffer(content, kinds[kind], count, 4 + length + offset).tolist()
    return said


def test_frames_hold_what_was_put_in() -> None:
    rows = pl.DataFrame(
        {
            "i": [1, -(2**40)],
            "big": [2**60, 1],
            "f": [0.5, float("inf")],
            "g": [0.5, 1e300],
            "n": [None, 3],
            "t": ["a", None],
            "b": [True, False],
        }
    )
    said = unpacked(pack_rows({"x": 1}, rows))
    assert said["x"] == 1
    assert said["names"] == rows.columns
    values = said["texts"]
    assert values["i"] == [1, -(2**40)]
    assert values["big"] == [str(2**60), 1]
    assert values["f"] == [0.5, "inf"]
    assert values["g"] == [0.5, 1e300]
    assert values["n"] == [None, 3]
    assert values["t"] == ["a", None]
    assert values["b"] == [True, False]
    columns = {
        "a": np.arange(3, dtype=np.float32),
        "b": np.arange(5, dtype=np.uint8),
        "c": np.arange(2, dtype=np.int32),
    }
    assert unpacked(pack({}, columns))["texts"] == {"a": [0, 1, 2], "b": [0, 1, 2, 3, 4], "c": [0, 1]}


def test_the_network_of_a_run(client: TestClient) -> None:
    said = client.get("/api/network").json()
    boxes = {box["name"]: box for box in said["boxes"]}
    assert boxes["per_ten"]["arguments"] == {"values": "reports = count(*), top = max(speed)", "every": "10 seconds"}
    assert boxes["per_ten"]["stateful"]
    assert boxes["alerts"]["graphs"] == {"delay": [[2, 1], [10, 0]]}
    assert boxes["kept"]["kept"] == "1 hour"
    assert said["groups"]["jams"] == ["slow", "named"]
    arc = next(arc for arc in said["arcs"] if arc["name"] == ARC)
    assert arc["shuffles"]
    assert arc["columns"] == {"time": "int64", "vehicle": "int64", "road": "int64", "speed": "int64"}
    assert client.get("/api/subject").json()["places"] == ["kept"]


def test_status_and_steps_are_those_of_the_run(client: TestClient, running: LocalRun) -> None:
    _until(lambda: running.status.step > 3)
    time.sleep(0.3)
    said = client.get("/api/status").json()
    status = read_status(Path(running.checkpoint))
    assert status is not None
    assert said.keys() == asdict(status).keys()
    steps = client.get("/api/steps", params={"most": 3, "before": 4}).json()
    assert [step["step"] for step in steps] == [1, 2, 3]


def test_figures_come_live(client: TestClient) -> None:
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({"open": "figures", "id": 7}))
        channel, first = frame(socket)
        assert channel == 7
        assert first["status"]["state"] in ("running", "paused")
        while not (second := frame(socket)[1])["steps"]:
            pass  # a machine that is busy: it says that nothing has happened yet
        assert second["steps"][0]["step"] == first["steps"][-1]["step"] + 1


def test_tuples_of_an_arc_come_live_and_filtered(client: TestClient) -> None:
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({"open": "tuples", "id": 1, "arc": "fast -> by_vehicle", "where": "speed > 125"}))
        _, said = frame(socket)
        assert said["arc"] == ARC
        _, rows = frame(socket)
        assert min(rows["texts"]["speed"]) > 125
        socket.send_text(json.dumps({"close": 1}))


def test_rows_are_those_of_attach(client: TestClient, running: LocalRun) -> None:
    query = "SELECT road, count(*) AS n FROM kept GROUP BY road, TUMBLE(time, '10 seconds')"
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({"open": "rows", "id": 1, "place": "kept", "query": query, "up_to": "29"}))
        found: list[tuple[float, ...]] = []
        while True:
            _, said = frame(socket)
            assert "error" not in said
            if "names" in said:
                found += zip(*(said["texts"][name] for name in ("time", "road", "n")), strict=True)
            if said.get("end"):
                break
    _until(lambda: running.status.step > 40)
    (expected,) = attach(running.checkpoint, "kept", query, up_to=29).collect().values()
    assert sorted(found) == sorted(expected.select("time", "road", "n").rows())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"open": "tuples", "arc": "nothing"}, "no arc 'nothing'"),
        ({"open": "tuples", "arc": ARC, "where": "sped > 1"}, "sped"),
        ({"open": "tuples", "arc": ["a"]}, "expected a text as 'arc'"),
        ({"open": "tuples"}, "expected a text as 'arc'"),
        ({"open": "rows", "place": "../../kept"}, "no connection point or view '../../kept'"),
        ({"open": "rows", "place": "/etc"}, "no connection point"),
        ({"open": "rows", "place": "kept", "query": "SELECT sped FROM kept"}, "sped"),
        ({"open": "rows", "place": "kept", "query": "os:system"}, ""),
        ({"open": "rows", "place": "kept", "since": {"a": 1}}, "expected a text as 'since'"),
        ({"open": "breakpoint", "arc": ARC, "where": "("}, ""),
    ],
)
def test_a_mistake_ends_its_channel_with_words(client: TestClient, asked: dict[str, Any], words: str) -> None:
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({**asked, "id": 5}))
        channel, said = frame(socket)
        assert channel == 5
        assert words in said["error"]
        assert "Traceback" not in said["error"]


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "[]", "{}", '{"open": "figures"}', '{"open": "no", "id": 1}', '{"open": "figures", "id": true}',
     '{"open": 3, "id": 1}', '{"close": "a"}', "[" * 5000,
     '{"open": "figures", "id": 4294967296}', '{"open": "figures", "id": -1}'],
)  # fmt: skip
def test_what_nobody_understands_ends_the_socket(client: TestClient, text: str) -> None:
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(text)
        with pytest.raises(WebSocketDisconnect) as over:
            socket.receive_bytes()
        assert over.value.code == 1003


def test_commands_are_those_of_control(client: TestClient, running: LocalRun) -> None:
    assert client.post("/api/control", json={"command": "pause"}).json()["paused"]
    _until(lambda: running.status.state == "paused")
    before = running.status.step
    client.post("/api/control", json={"command": "step", "trains": 2})
    _until(lambda: running.status.step == before + 2)
    assert not client.post("/api/control", json={"command": "resume"}).json()["paused"]
    said = client.post("/api/control", json={"command": "shed", "arc": ARC, "share": 0.5}).json()
    assert said["shed"][ARC]["share"] == 0.5
    assert client.get("/api/control").json() == said
    assert client.post("/api/control", json={"command": "shed", "arc": ARC, "off": True}).json()["shed"] == {}
    for wrong, words in [
        ({"command": "shed", "arc": "nothing", "share": 0.5}, "no arc"),
        ({"command": "shed", "share": 0.5}, "which arc"),
        ({"command": "shed", "arc": ARC}, "how much"),
        ({"command": "hold", "arc": "reports -> fast"}, "cannot be held"),
    ]:
        answer = client.post("/api/control", json=wrong)
        assert answer.status_code == 400
        assert words in answer.json()["detail"]
    assert client.post("/api/control", json={"command": "format c:"}).status_code == 422


def test_a_breakpoint_leaves_the_run_behind_the_very_train(tmp_path: Path) -> None:
    run = live(tmp_path, interval=0.01)
    try:
        with (
            TestClient(make_app(Run(tmp_path)), base_url="http://localhost") as client,
            client.websocket_connect("ws://localhost/api/live") as socket,
        ):
            socket.send_text(json.dumps({"open": "breakpoint", "id": 1, "arc": ARC, "where": "time >= 30"}))
            frame(socket)
            _, said = frame(socket)
            at = min(said["texts"]["time"])
            assert at >= 30
            assert said["hit"] == run.status.step == at + 1
            time.sleep(0.1)
            assert run.status.step == said["hit"]
            # Nobody waits for this one any more: the run goes on.
            socket.send_text(json.dumps({"open": "breakpoint", "id": 2, "arc": ARC, "where": "time < 0"}))
            while frame(socket)[0] != 2:  # what the other slot saw of the first one, and its end
                pass
        _until(lambda: run.status.step > said["hit"] + 5)
    finally:
        run.stop()


def test_a_run_goes_on_whenever_the_page_of_a_breakpoint_goes(
    client: TestClient, running: LocalRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def slow_step(folder: Path) -> None:
        begun.set()
        time.sleep(0.5)
        step(folder)

    step = control.step
    monkeypatch.setattr(control, "step", slow_step)
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({"open": "breakpoint", "id": 1, "arc": ARC, "where": "time < 0"}))
        frame(socket)
        assert begun.wait(20)
        socket.send_text(json.dumps({"close": 1}))
        time.sleep(1)
    assert not control.read_control(Path(running.checkpoint) / "arterial").paused


@pytest.mark.thorough
def test_a_run_that_is_killed_under_the_page(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-m", "tests.studio.traffic", str(tmp_path)])
    try:
        _until(lambda: (tmp_path / "status.json").exists() and read_status(tmp_path).step > 3, 60)  # type: ignore[union-attr]
        with (
            TestClient(make_app(Run(tmp_path)), base_url="http://localhost") as client,
            client.websocket_connect("ws://localhost/api/live") as socket,
        ):
            socket.send_text(json.dumps({"open": "figures", "id": 1}))
            socket.send_text(json.dumps({"open": "tuples", "id": 2, "arc": ARC}))
            socket.send_text(json.dumps({"open": "breakpoint", "id": 3, "arc": ARC, "where": "time < 0"}))
            assert {frame(socket)[0] for _ in range(4)} >= {1, 2}
            process.kill()
            process.wait()
            said: dict[int, dict[str, Any]] = {}
            while not (said.get(1, {}).get("status", {}).get("state") == "stopped" and 2 in said and 3 in said):
                channel, header = frame(socket)
                if channel == 1 or header.get("end"):
                    said[channel] = header
            assert "was killed" in said[1]["status"]["error"]
            assert client.get("/api/status").json()["state"] == "stopped"
            assert client.get("/api/network").status_code == 200
            socket.send_text(json.dumps({"open": "rows", "id": 4, "place": "kept"}))
            while (found := frame(socket))[0] != 4:
                pass
            assert "outputs" in found[1]  # what it kept can still be asked
    finally:
        process.kill()
        process.wait()


def test_a_finished_run_takes_no_command(tmp_path: Path) -> None:
    live(tmp_path, number=5, interval=0.0).wait()
    answer = TestClient(make_app(Run(tmp_path)), base_url="http://localhost").post(
        "/api/control", json={"command": "pause"}
    )
    assert answer.status_code == 400
    assert "the run is finished" in answer.json()["detail"]


def test_a_view_is_asked_like_a_connection_point(tmp_path: Path) -> None:
    net = Network("viewed")
    reports = net.source("reports", {"time": int, "speed": int})
    reports.connection_point("kept", "1 hour").filter("fast", "speed > 100").view("fast_ones")
    reports.output("all")
    rows = pl.DataFrame({"time": [1, 2, 3], "speed": [90, 120, 130]})
    run_locally(net.value, {"reports": MemorySource([Train(rows, END)])}, {"all": MemorySink()}, tmp_path).wait()
    with TestClient(make_app(Run(tmp_path)), base_url="http://localhost") as client:
        assert client.get("/api/subject").json()["places"] == ["fast_ones", "kept"]
        with client.websocket_connect("ws://localhost/api/live") as socket:
            socket.send_text(json.dumps({"open": "rows", "id": 1, "place": "fast_ones"}))
            assert "outputs" in frame(socket)[1]
            assert frame(socket)[1]["texts"]["speed"] == [120, 130]


def test_a_tap_is_gone_when_its_page_is(client: TestClient, running: LocalRun) -> None:
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({"open": "tuples", "id": 1, "arc": ARC}))
        frame(socket)
    taps = Path(running.checkpoint) / "arterial" / "taps"
    _until(lambda: not any(taps.iterdir()))


def test_tuples_as_a_test_and_traced(client: TestClient) -> None:
    rows = [{"time": 1, "vehicle": 2, "road": 1, "speed": 120}, {"time": 11, "vehicle": 2, "road": 1, "speed": 130}]
    text = client.post("/api/sample/test", json={"arc": ARC, "rows": rows}).json()["text"]
    scope: dict[str, Any] = {"__name__": "saved"}
    exec(text, scope)
    scope["test_what_comes_out"]()
    assert scope["EXPECTED"]["alerts"][0] == {"vehicle": 2, "time": 9, "reports": 1, "top": 120}
    traced = client.post("/api/sample/trace", json={"arc": ARC, "rows": rows}).json()["tuples"]
    assert len(traced["per_ten.out"]) == 2
    wrong = client.post("/api/sample/trace", json={"arc": ARC, "rows": [{"time": "x"}]})
    assert "column 'time': expected int64, got 'x'" in wrong.json()["detail"]
    assert client.post("/api/sample/trace", json={"arc": "../x", "rows": []}).status_code == 400


def test_a_sample_as_parquet_has_the_types_of_its_arc(client: TestClient) -> None:
    rows = [{"time": 1, "vehicle": 2, "road": 3, "speed": 120}, {"time": 2, "vehicle": 2, "road": None, "speed": 130}]
    answer = client.post("/api/sample/parquet", json={"arc": ARC, "rows": rows})
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert pl.read_parquet(answer.content).to_dicts() == rows
    empty = pl.read_parquet(client.post("/api/sample/parquet", json={"arc": ARC, "rows": []}).content)
    assert empty.schema == dict.fromkeys(("time", "vehicle", "road", "speed"), pl.Int64)
    huge = client.post("/api/sample/parquet", json={"arc": ARC, "rows": [{**rows[0], "speed": 2**70}]})
    assert huge.status_code == 400
    assert "has no arc" in client.post("/api/sample/parquet", json={"arc": "../x", "rows": []}).json()["detail"]


def test_functions_can_be_completed(client: TestClient) -> None:
    assert {"count", "abs", "upper"} <= set(client.get("/api/functions").json())


def test_why_names_the_causes_of_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    net = Network("kept")
    reports = net.source("reports", {"time": int, "speed": int})
    reports.connection_point("kept", retention="1 hour").filter("fast", "speed > 100").output("alerts")
    Path("reports.csv").write_text("time,speed\n1,90\n2,120\n3,130\n")
    sources = {"reports": FileSource("reports.csv")}
    run = run_locally(net.value, sources, {"alerts": MemorySink()}, Path("o/local"))
    run.wait()
    write_record(Path("o"), "kept.py:net", net.value, sources)
    asked = TestClient(make_app(Run(Path("o"))), base_url="http://localhost")
    said = asked.post("/api/why", json={"output": "alerts", "row": {"time": 2, "speed": 120}}).json()
    assert [one["values"] for one in said["tuples"] if one.get("needed")] == [{"time": 2, "speed": 120}]
    by_words = asked.post("/api/why", json={"output": "alerts", "where": "speed = 120"}).json()
    assert by_words["tuples"] == said["tuples"]
    several = asked.post("/api/why", json={"output": "alerts", "where": "speed > 0"})
    assert several.status_code == 400
    assert "2 rows" in several.json()["detail"]
    assert asked.post("/api/why", json={"output": "alerts", "where": "sped > 0"}).status_code == 400
    assert "did you mean 'alerts'" in asked.post("/api/why", json={"output": "alert", "row": {}}).json()["detail"]


def test_a_draft_is_checked_box_by_box() -> None:
    client = TestClient(make_app(Drawn(traffic())), base_url="http://localhost")
    drawn = client.get("/api/drawing").json()
    said = client.post("/api/draft/check", json={"network": drawn}).json()
    assert said["errors"] == {}
    assert said["whole"]
    assert said["facts"]["groups"]["jams"] == ["slow", "named"]
    next(box for box in drawn["boxes"] if box["name"] == "slow")["predicate"] = "men < 70"
    drawn["boxes"].append({"kind": "filter", "name": "loose"})
    drawn["boxes"].append({"kind": "class", "name": "odd"})
    said = client.post("/api/draft/check", json={"network": drawn}).json()
    assert "men" in said["errors"]["slow"]
    assert "mean" in said["columns"]["slow"]  # what does not fit yet can be completed
    assert "slow" in said["errors"]["named"]
    assert "predicate" in said["errors"]["loose"]
    assert "no kind of box 'class'" in said["errors"]["odd"]
    assert "road_means" in said["python"]
    assert not said["whole"]
    # Text from a page never loads code.
    evil = {**drawn, "boxes": [{"kind": "x", "class": "os:system", "name": "x"}], "arcs": []}
    said = client.post("/api/draft/check", json={"network": evil}).json()
    assert "would run the code" in said["errors"]["x"]
    for nonsense in ({}, {"format": 1, "network": "a", "boxes": [3], "arcs": [[1]]}, {"format": 1, "boxes": {}}):
        assert client.post("/api/draft/check", json={"network": nonsense}).status_code in (200, 400)


def test_the_kinds_say_what_they_take() -> None:
    client = TestClient(make_app(Drawn(traffic())), base_url="http://localhost")
    kinds = {kind["kind"]: kind for kind in client.get("/api/kinds").json()}
    assert kinds["join"]["inputs"] == ["left", "right"]
    tumble = {one["name"]: one for one in kinds["tumble"]["parameters"]}
    assert tumble["values"]["needed"]
    assert "length of a window" in tumble["every"]["about"]


def test_a_network_that_does_not_run_has_no_run() -> None:
    client = TestClient(make_app(Drawn(traffic())), base_url="http://localhost")
    assert client.get("/api/status").status_code == 404
    assert client.post("/api/control", json={"command": "pause"}).status_code == 404
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("ws://localhost/api/live"):
        pass


def _until(true: Any, seconds: float = 90.0) -> None:
    patience = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < patience
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "..", "a/b", "a\0b"])
def test_a_name_in_a_request_is_never_a_path(client: TestClient, name: str) -> None:
    drawn = json.loads(client.get("/api/drawing").text.replace('"kept', json.dumps(name)[:-1]))
    for path, body, words in [
        ("replace", {"network": drawn}, "cannot be named"),
        ("draft/try", {"network": drawn, "sources": {name: [{"time": 1}]}}, "cannot be named"),
        ("why", {"output": name, "row": {"time": 1}}, ""),
        ("sample/trace", {"arc": name, "rows": []}, "no arc"),
        ("control", {"command": "shed", "arc": name, "share": 0.5}, "no arc"),
    ]:
        answer = client.post(f"/api/{path}", json=body)
        assert answer.status_code == 400, path
        assert words in answer.json()["detail"], path
