"""OpenLineage: column lineage against what a person would say of small networks, and the events' structure."""

from __future__ import annotations

import json
import re
import socket
import threading
import uuid
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arterial as art
from arterial.engine.run.watch.columns import SourceColumn, column_lineage
from arterial.engine.run.watch.openlineage import ATTEMPTS, KEY_VARIABLE, event
from arterial.errors import RunError
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.semantics.profiles import profile
from arterial.network.network import NetworkValue
from arterial.reference import interpret
from tests.conformance.kinds import cases
from tests.conformance.networks import networks
from tests.conformance.tuples import SCHEMA as TUPLES
from tests.conformance.tuples import arrivals as arrivals_of
from tests.conformance.tuples import streams
from tests.engine.run.watch.watched import SCHEMA, speeding, tuples

_FACET_URL = re.compile(r"https://openlineage\.io/spec/facets/\d-\d-\d/(\w+)\.json#/\$defs/\1")


def shown(ways: Any) -> dict[str, Any]:
    return {f"{field.source}.{field.column}": how for field, how in ways.items()}


@art.function(reads=["speed", "vehicle"], produces="float64")
def strange(speed: pl.Series, vehicle: pl.Series) -> pl.Series:
    return (speed + vehicle).cast(pl.Float64)


def test_columns_of_a_small_network() -> None:
    net = art.Network("small")
    reports = net.source("reports", SCHEMA)
    owners = net.source("owners", {"time": "int64", "vehicle": "int32", "name": "text"})
    fast = reports.filter("fast", "speed > 30").map("metric", kmh="speed * 2", car="vehicle", odd=strange)
    fast.group_by("vehicle").tumble("per_minute", every=60, peak="max(kmh)", n="count(*)").output("peaks")
    fast.group_by("car").join("owned", owners.map("as_car", car="vehicle").group_by("car"), within=10).output("pairs")
    found = column_lineage(net.value)
    peaks = {name: shown(came) for name, came in found["peaks"].columns.items()}
    assert peaks == {
        "vehicle": {"reports.vehicle": "IDENTITY"},
        "time": {"reports.time": "TRANSFORMATION"},
        "peak": {"reports.speed": "AGGREGATION"},
        "n": {},
    }
    assert shown(found["peaks"].chosen_by) == {
        "reports.speed": {"FILTER"},
        "reports.vehicle": {"GROUP_BY"},
        "reports.time": {"WINDOW"},
    }
    pairs = {name: shown(came) for name, came in found["pairs"].columns.items()}
    assert pairs["kmh"] == {"reports.speed": "TRANSFORMATION"}
    assert pairs["car"] == {"reports.vehicle": "IDENTITY"}
    assert pairs["odd"] == {"reports.speed": "TRANSFORMATION", "reports.vehicle": "TRANSFORMATION"}
    assert pairs["name"] == {"owners.name": "IDENTITY"}
    assert pairs["right_vehicle"] == {"owners.vehicle": "IDENTITY"}
    assert {"reports.time", "owners.time"} <= pairs["joined"].keys()
    chosen = shown(found["pairs"].chosen_by)
    assert chosen["owners.vehicle"] >= {"JOIN", "GROUP_BY"}
    assert chosen["reports.speed"] == {"FILTER"}


def test_every_output_of_linear_road_has_a_lineage() -> None:
    found = column_lineage(linear_road_network(profile("spec"), History()))
    assert len(found) >= 4
    for lineage in found.values():
        sources = {field for came in lineage.columns.values() for field in came} | set(lineage.chosen_by)
        assert sources
        assert all(isinstance(field, SourceColumn) for field in sources)


def check_event(said: dict[str, Any]) -> None:
    """The required fields of OpenLineage's RunEvent, its datasets and facets, and their forms."""
    assert said["eventType"] in ("START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER")
    datetime.fromisoformat(said["eventTime"])
    assert said["producer"].startswith("urn:arterial:")
    assert said["schemaURL"].startswith("https://")
    assert str(uuid.UUID(said["run"]["runId"])) == said["run"]["runId"]
    assert said["job"]["namespace"]
    assert said["job"]["name"]
    datasets = [*said["inputs"], *said["outputs"]]
    assert all(one["namespace"] and one["name"] for one in datasets)
    for holder in (said["run"], said["job"], *datasets):
        for facet in holder["facets"].values():
            assert facet["_producer"].startswith("urn:arterial:")
            assert re.fullmatch(
                r"https://openlineage\.io/spec/facets/\d-\d-\d/(\w+)\.json#/\$defs/\1", facet["_schemaURL"]
            )
    for one in datasets:
        assert all(field["name"] and field["type"] for field in one["facets"]["schema"]["fields"])
    names = {
        (one["namespace"], one["name"]): {f["name"] for f in one["facets"]["schema"]["fields"]} for one in datasets
    }
    for one in said["outputs"]:
        lineage = one["facets"]["columnLineage"]
        assert lineage["fields"].keys() == names[one["namespace"], one["name"]]
        entries = [*lineage["dataset"], *(entry for f in lineage["fields"].values() for entry in f["inputFields"])]
        for entry in entries:
            assert entry["field"] in names[entry["namespace"], entry["name"]]
            assert all(way["type"] in ("DIRECT", "INDIRECT") for way in entry["transformations"])


def test_events_of_a_run_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lineage.jsonl"
    art.run(speeding(), reports=tuples(10), local=True, lineage=path).wait()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [said["eventType"] for said in events] == ["START", "COMPLETE"]
    assert events[0]["run"]["runId"] == events[1]["run"]["runId"]
    for said in events:
        check_event(said)
    assert [one["name"] for one in events[0]["outputs"]] == ["speeding.alerts"]
    failed = event("FAIL", speeding().value, "0" * 32, "no postgresql://me:hush@db")
    check_event(failed)
    assert "hush" not in json.dumps(failed)


def test_events_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[str | None, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append((self.headers.get("Authorization"), said))
            self.send_response(201 if len(got) != 1 else 503)  # it comes again
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    monkeypatch.setenv(KEY_VARIABLE, "a-key")
    try:
        art.run(
            speeding(), reports=tuples(10), local=True, lineage=f"http://127.0.0.1:{server.server_port}/api/v1"
        ).wait()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert [said["eventType"] for _, said in got] == ["START", "START", "COMPLETE"]
    assert {key for key, _ in got} == {"Bearer a-key"}


def test_an_address_that_speaks_no_http_gets_the_next_event_too(caplog: pytest.LogCaptureFixture) -> None:
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2 * ATTEMPTS):
                connection, _ = server.accept()
                with connection:
                    asked.append(connection.recv(65536))
                    connection.sendall(b"nonsense\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        where = f"http://127.0.0.1:{server.getsockname()[1]}"
        art.run(speeding(), reports=tuples(10), local=True, lineage=where).wait()
        thread.join(20)
    assert len(asked) == 2 * ATTEMPTS
    assert "lineage: the event COMPLETE could not be sent" in caplog.text


def test_an_address_that_does_not_answer_stops_nothing(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    run = art.run(speeding(), reports=tuples(10), local=True, lineage="http://127.0.0.1:1/none")
    run.wait()
    assert run.state == "finished"
    with pytest.raises(RunError, match=r"--lineage .*missing/x: cannot be written"):
        art.run(speeding(), reports=tuples(10), local=True, lineage=tmp_path / "missing" / "x")


def check_lineage(network: NetworkValue, arrivals: dict[str, list[dict[str, Any]]], column: str) -> None:
    """Where a column of the sources is not named, other values in it change nothing."""
    expected = interpret(network, arrivals)
    changed = {
        name: [{**row, column: other[column]} for row, other in zip(rows, reversed(rows), strict=True)]
        for name, rows in arrivals.items()
    }
    found = interpret(network, changed)
    for output, lineage in column_lineage(network).items():
        if output not in expected or any(field.column == column for field in lineage.chosen_by):
            continue
        for name, came in lineage.columns.items():
            if not any(field.column == column for field in came):
                one, other = (sorted(repr(row[name]) for row in rows[output]) for rows in (expected, found))
                assert one == other, f"{output}.{name} depends on {column}, which its lineage does not name"


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_not_named_does_not_matter(data: st.DataObject) -> None:
    net = data.draw(networks())
    arrivals = {box.name: data.draw(streams()) for box in net.value.boxes if not box.inputs}
    for column in ("k", "j", "x", "n", "f", "s", "b"):
        check_lineage(net.value, arrivals, column)


@pytest.mark.parametrize("kind", sorted(cases()))
def test_every_kind_of_box(kind: str) -> None:
    net = art.Network("one")
    cases()[kind](net.source("s", TUPLES, "t"))
    for column in ("k", "x"):
        check_lineage(net.value, {"s": arrivals_of(16, 7)}, column)
