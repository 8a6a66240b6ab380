"""What happens to a cluster in months: a zombie comes back, a driver moves, tasks run twice. All answers stay right."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from arterial.linearroad.formats.dialects import dialect, read_output
from arterial.linearroad.reference import answer
from arterial.moving.files.run import run_file
from tests.cluster.hosts import Host, SparkHosts, available
from tests.cluster.running import QUICK_TO_NOTICE, Recovering, folder_of
from tests.linearroad.cities import generate
from tests.linearroad.outputs import write_city
from tests.moving.application.test_application import write_world

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]


def test_linear_road(hosts: SparkHosts) -> None:
    hosts.until(2)
    folder, city = folder_of(hosts, "road"), generate(5)
    data, tolls, segments = write_city(city, folder / "city")
    history: list[str | Path] = ["--tolls", tolls, "--segments", segments]
    words: list[str | Path] = [
        "linear-road",
        "run",
        "--data",
        data,
        "--out",
        folder / "out",
        *history,
        "--speed",
        "max",
        "--shards",
        "2",
    ]
    hosts.finish(hosts.arterial("driver", words, "road"), "driver", "road")
    right, given = answer(city.table(), city.tolls, city.segments), read_output(folder / "out", dialect("paper"))
    assert not given.faults
    for table, columns, expected in (
        (given.answers.notices, ["vid", "time", "lav", "toll"], right.notices),
        (given.answers.balances, ["time", "result_time", "qid", "balance"], right.balances),
        (given.answers.travels, ["time", "qid", "travel_time", "toll"], right.travels),
    ):
        assert sorted(tuple(row.values()) for row in table.select(columns).to_pylist()) == sorted(expected)


def test_four_congested_expressways(hosts: SparkHosts) -> None:
    """Five minutes of the rush hour, four times over, are judged by the validator; some of the tolls are not zero."""
    hosts.until(2)
    folder = folder_of(hosts, "rush")
    city, out = folder / "city", folder / "out"

    def alone(*words: str | Path) -> None:
        command: list[str | Path] = [sys.executable, "-m", "arterial", "linear-road", *words]
        process = hosts.host("driver").start(command, str(words[0]), {"ARTERIAL_ARCHIVE": "off"})
        hosts.finish(process, "driver", str(words[0]), 1500)

    alone("simulate", "--out", city, "--start-at", "9000", "--seconds", "300")
    words: list[str | Path] = ["linear-road", "run", "--data", city, "--out", out, "--replicate", "4"]
    running = hosts.arterial("driver", [*words, "--speed", "max", "--shards", "2"], "rush")
    hosts.finish(running, "driver", "rush", 1500)
    tolls = read_output(out, dialect("paper")).answers.notices["toll"].to_numpy()
    assert (tolls > 0).sum() > 1000
    alone("validate", "--data", city, "--output", out, "--replicate", "4", "--untimed", "--no-causes")


def test_moving_queries(hosts: SparkHosts) -> None:
    folder = folder_of(hosts, "moving")
    write_world(folder / "events.csv", 3)
    words: list[str | Path] = [
        "moving",
        "run",
        folder / "events.csv",
        "--out",
        folder / "out.csv",
        "--checkpoint",
        folder / "checkpoint",
    ]
    hosts.finish(hosts.arterial("driver", [*words, "--train-size", "60"], "moving"), "driver", "moving")
    run_file(folder / "events.csv", folder / "expected.csv", rejects=folder / "rejects.csv")
    assert (folder / "out.csv").read_bytes() == (folder / "expected.csv").read_bytes()


def test_a_worker_comes_back_as_a_zombie(hosts: SparkHosts) -> None:
    """It stands still and is cut off for 20 s; then it goes on with work that others have done in the meantime."""
    run = Recovering(hosts, "zombie", steps=30)
    said_by_executors = {"spark.executor.syncLogLevel.enabled": "false"}  # by which it is seen at work
    process = run.start(**QUICK_TO_NOTICE, **said_by_executors)
    run.until_step(3, process)
    zombie = hosts.host("worker2")
    _stop_at_work(zombie)
    zombie.cut_off()
    before = run.committed()
    time.sleep(20)
    assert run.committed() > before, "the others should have gone on"
    zombie.connect()
    _signal(zombie, signal.SIGCONT)
    run.check(process)


def test_the_driver_goes_on_on_another_host(hosts: SparkHosts) -> None:
    run = Recovering(hosts, "moved", steps=12)
    process = run.start("driver")
    run.until_step(3, process)
    hosts.host("driver").kill()
    process.wait(60)
    assert run.committed() < 12
    hosts.host("driver2")
    run.check(run.start("driver2"), "driver2")


def test_with_speculation(hosts: SparkHosts) -> None:
    hosts.add_worker("worker4")
    events = folder_of(hosts, "events")
    run = Recovering(hosts, "speculation", steps=12)
    eager = {"interval": "50ms", "multiplier": "1.01", "quantile": "0.1", "minTaskRuntime": "20ms"}
    settings = {f"spark.speculation.{name}": value for name, value in eager.items()}
    settings |= {
        "spark.speculation": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
    }
    run.check(run.start(**settings))
    logged = "".join(path.read_text() for path in events.rglob("*") if path.is_file())
    assert '"Speculative":true' in logged, "no task ran twice"


def test_secrets_and_a_packed_environment(tmp_path: Path) -> None:
    """The workers ask for a secret, and their Python comes with the run."""
    if not available():
        pytest.skip("hosts need root and iproute2")
    hosts = SparkHosts(workers=1, secret="not-for-logs-4711")
    try:
        _run_packed(hosts)
    finally:
        hosts.close()


def _run_packed(hosts: SparkHosts) -> None:
    folder = folder_of(hosts, "packed")
    (folder / "net.py").write_text(
        "import sys\nimport arterial as art\n\n\n"
        '@art.function(reads=["n"], produces={"prefix": "string"})\ndef where(n):\n'
        "    return n.cast(str).replace_strict({}, default=sys.prefix)\n\n\n"
        'net = art.Network("where")\nrows = net.source("rows", {"time": int, "n": int})\n'
        'rows.map("asked", where).output("out")\n'
    )
    (folder / "rows.csv").write_text("time,n\n" + "".join(f"{n},{n}\n" for n in range(50)))
    packing = hosts.host("driver").start([sys.executable, "-m", "arterial", "pack", folder / "env.tar.gz"], "pack")
    hosts.finish(packing, "driver", "pack")
    words: list[str | Path] = [
        "run",
        f"{folder / 'net.py'}:net",
        "--source",
        f"rows={folder / 'rows.csv'}",
        "--out",
        folder / "out",
    ]
    process = hosts.arterial("driver", [*words, "--format", "csv", "--environment", folder / "env.tar.gz"], "packed")
    hosts.finish(process, "driver", "packed")
    lines = [line for part in (folder / "out" / "out").glob("*.csv") for line in part.read_text().splitlines()[1:]]
    assert len(lines) == 50
    assert all("/tmp/work/" in line and "environment" in line for line in lines), lines[0]


def _stop_at_work(host: Host) -> None:
    """Stop all processes of a host in the middle of a task."""
    for _ in range(1000):
        _signal(host, signal.SIGSTOP)
        if _tasks(host, "Running") - _tasks(host, "Finished"):
            return
        _signal(host, signal.SIGCONT)
        time.sleep(0.02)
    raise AssertionError("it had nothing to do")


def _tasks(host: Host, what: str) -> set[str]:
    """The tasks that the executors of a host began, or finished, by the work folder of the application and number."""
    found = set()
    for log in (host.disk / "tmp" / "work").glob("*/*/stderr"):
        found |= {
            f"{log.parent.parent.name} {tid}" for tid in re.findall(rf"{what} task .*\(TID (\d+)\)", log.read_text())
        }
    return found


def _signal(host: Host, number: signal.Signals) -> None:
    """Send a signal to all processes of a host."""
    for pid in host.pids():
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(pid, number)
