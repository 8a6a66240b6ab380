"""Metrics: what Prometheus' own parser reads of them, and that no client can do harm."""

from __future__ import annotations

import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import arterial as art
from arterial.connectors.memory_source import MemorySource
from arterial.engine.run.watch import server as serving
from arterial.engine.run.watch.metrics import BOUNDS, FAMILIES, MOST_NAMES, Metrics
from arterial.engine.run.watch.server import MetricsServer, parse_address
from arterial.errors import RunError
from tests.engine.run.watch.watched import feed, in_file, plan_of, speeding, step, tuples


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What the parser reads: by name and labels, without that of the network."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        for sample in family.samples:
            labels = frozenset(item for item in sample.labels.items() if item[0] != "network")
            assert (sample.name, labels) not in found
            found[sample.name, labels] = sample.value
    return found


def of(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


@pytest.fixture
def served() -> Iterator[MetricsServer]:
    metrics = Metrics(plan_of(speeding()), "abc")
    feed(metrics, plan_of(speeding()), step(1))
    server = MetricsServer("0", metrics)
    yield server
    server.close()


@pytest.mark.thorough
def test_a_run_serves_its_figures(tmp_path: Path) -> None:
    reports = in_file(tmp_path, 500)
    run = art.run(
        speeding(), reports=reports, local=True, metrics=0, settings=art.Settings(train_size=100, interval=0.2)
    )
    assert run.metrics_url is not None
    assert run.metrics_url.startswith("http://127.0.0.1:")
    patience = time.monotonic() + 20
    while time.monotonic() < patience and run.status.step < 2:
        time.sleep(0.01)
    base = run.metrics_url.removesuffix("/metrics")
    assert get(f"{base}/health") == (200, "running\n")
    assert get(f"{base}/ready") == (200, "running\n")
    run.pause()
    time.sleep(0.05)
    code, text = get(run.metrics_url)
    assert code == 200
    found, status = samples(text), run.status
    assert get(f"{base}/ready") == (503, "paused\n")
    assert found[of("arterial_run_state", state="paused")] + found[of("arterial_run_state", state="running")] == 1
    assert found[of("arterial_steps_total")] <= status.step
    run.resume()
    run.wait()
    with pytest.raises(OSError):
        urllib.request.urlopen(run.metrics_url, timeout=2)


def test_the_metrics_are_those_of_status() -> None:
    metrics, plan = Metrics(plan_of(speeding()), "abc", Path("/")), plan_of(speeding())
    window = {
        "utility": 0.75,
        "state": {"bytes": 100},
        "held": {"fast.out → alerts.in": 5},
        "sources": {"reports": {"rate": 20.0, "waiting": 3, "waited": 0.1, "lag": 2.0, "share": None}},
        "outputs": {"alerts": {"rate": 8.0, "utility": 0.75}},
    }
    kept = feed(
        metrics,
        plan,
        step(1, 0.2, 4, shed={"reports.out → fast.in": 6}),
        step(2, 7.0, 1, rejects=2),
        window=window,
    )
    found = samples(metrics.text())
    for name, value in (
        (of("arterial_source_tuples_total", source="reports"), 20),
        (of("arterial_output_tuples_total", output="alerts"), 5),
        (of("arterial_box_tuples_in_total", box="fast"), 20),
        (of("arterial_box_seconds_total", box="fast"), 0.04),
        (of("arterial_shed_tuples_total", arc="reports.out → fast.in"), 6),
        (of("arterial_held_tuples", arc="fast.out → alerts.in"), 5),
        (of("arterial_set_aside_tuples_total"), 2),
        (of("arterial_steps_total"), 2),
        (of("arterial_state_bytes"), 100),
        (of("arterial_state_written_bytes_total"), 14),
        (of("arterial_utility"), 0.75),
        (of("arterial_source_waiting_tuples", source="reports"), 3),
        (of("arterial_output_delay_seconds_bucket", output="alerts", le="0.25"), 4),
        (of("arterial_output_delay_seconds_bucket", output="alerts", le="5"), 4),
        (of("arterial_output_delay_seconds_bucket", output="alerts", le="10"), 5),
        (of("arterial_output_delay_seconds_bucket", output="alerts", le="+Inf"), 5),
        (of("arterial_output_delay_seconds_count", output="alerts"), 5),
        (of("arterial_output_delay_seconds_sum", output="alerts"), 7.8),
        (of("arterial_checkpoint_duration_seconds"), 0.2),
        (of("arterial_run_info", run="abc", version=art.__version__), 1),
    ):
        assert found[name] == pytest.approx(value), name
    # It grows while no step comes.
    assert found[of("arterial_source_watermark_lag_seconds", source="reports")] > 2.0
    assert {family.name for family in text_string_to_metric_families(metrics.text())} <= {
        name.removesuffix("_total") for name in FAMILIES
    }
    kept.become("failed", "it broke")
    metrics.become(kept.status)
    assert metrics.health() == (False, "failed")


def test_what_waits_is_of_now() -> None:
    """A run that hangs says nothing new, and its input grows."""

    class Growing(MemorySource):
        def waiting_after(self, through: int) -> int:
            return 100 + through

    plan = plan_of(speeding())
    metrics = Metrics(plan, "abc", sources={"reports": Growing([])})
    window = {
        "utility": 1.0,
        "state": {"bytes": 1},
        "held": {},
        "sources": {"reports": {"rate": 1.0, "waiting": 0, "waited": 0.1, "lag": None, "share": None}},
        "outputs": {},
    }
    kept = feed(metrics, plan, step(7), window=window)
    name = of("arterial_source_waiting_tuples", source="reports")
    assert samples(metrics.text())[name] == 107
    kept.become("stopped")
    metrics.become(kept.status)
    assert samples(metrics.text())[name] == 0


def test_every_metric_appears() -> None:
    metrics, plan = Metrics(plan_of(speeding()), "abc", Path("/")), plan_of(speeding())
    window = {
        "utility": 1.0,
        "state": {"bytes": 1},
        "held": {"a": 1},
        "sources": {"reports": {"rate": 1.0, "waiting": 3, "waited": 0.1, "lag": 2.0, "share": 0.5}},
        "outputs": {"alerts": {"rate": 1.0, "utility": 1.0}},
    }
    feed(metrics, plan, step(1, shed={"a": 1}), window=window)
    found = {family.name for family in text_string_to_metric_families(metrics.text())}
    assert found == {name.removesuffix("_total") for name in FAMILIES}


def test_names_are_escaped_and_bounded() -> None:
    from dataclasses import replace

    metrics, plan = Metrics(plan_of(speeding()), 'a"b\\c\nd'), plan_of(speeding())
    figures = step(1)
    many = {f'box "{number}" \\ \n': figures.boxes["fast"] for number in range(MOST_NAMES + 5)}
    feed(metrics, plan, replace(figures, boxes=many))
    found = samples(metrics.text())
    assert found[of("arterial_run_info", run='a"b\\c\nd', version=art.__version__)] == 1
    assert found[of("arterial_box_tuples_in_total", box='box "7" \\ \n')] == 10
    assert sum(name == "arterial_box_tuples_in_total" for name, _ in found) == MOST_NAMES
    assert found[of("arterial_names_left_out")] == 5
    assert list(BOUNDS) == sorted(BOUNDS)


def test_figures_that_cannot_be_made_are_missed(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Metrics):
        def text(self) -> str:
            raise FileNotFoundError("spool")

    server = MetricsServer("0", Broken(plan_of(speeding()), "abc"))
    try:
        assert get(server.url)[0] == 500
        assert get(server.url.replace("metrics", "health"))[0] == 200
    finally:
        server.close()
    assert "metrics cannot be made, and the run goes on: FileNotFoundError: spool" in caplog.text


def test_other_requests_are_refused(served: MetricsServer) -> None:
    base = served.url.removesuffix("/metrics")
    assert get(f"{base}/metrics?x=1")[0] == 200
    assert get(f"{base}/")[0] == 404
    assert get(f"{base}/../../etc/passwd")[0] == 404
    request = urllib.request.Request(served.url, data=b"x", method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=5)
    assert refused.value.code == 405
    refused.value.close()


@pytest.mark.thorough
def test_hostile_clients_do_no_harm(served: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 0.5)
    host, port = parse_address(served.url.removesuffix("/metrics").removeprefix("http://"))
    threads = threading.active_count()
    slow = [socket.create_connection((host, port)) for _ in range(serving.MOST_CLIENTS + 8)]
    for client in slow:
        client.sendall(b"GET /met")  # and then nothing
    huge = socket.create_connection((host, port))
    vanished = socket.create_connection((host, port))
    vanished.close()
    time.sleep(0.7)  # all of them had their time
    with pytest.raises(OSError):
        huge.sendall(b"X-Header: " + b"x" * 60_000_000 + b"\r\n")
    assert get(served.url)[0] == 200
    reset = socket.create_connection((host, port))
    reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    reset.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    reset.close()
    for garbage in (b"\0\xff\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n"):
        with socket.create_connection((host, port)) as client:
            client.sendall(garbage)
            assert client.recv(12) == b"HTTP/1.1 400"
    for client in (*slow, huge):
        client.close()
    time.sleep(0.1)
    assert threading.active_count() <= threads + 1
    assert get(served.url)[0] == 200


def test_a_place_where_it_cannot_listen(served: MetricsServer) -> None:
    taken = served.url.rsplit(":", 1)[1].removesuffix("/metrics")
    with pytest.raises(RunError, match=r"cannot listen there.*Give another port"):
        art.run(speeding(), reports=tuples(10), local=True, metrics=taken)
    for text in ("x", "host:", ":80", "70000", "a b:1", "1.2.3.4", "-1"):
        with pytest.raises(RunError, match="expected PORT or HOST:PORT"):
            parse_address(text)
