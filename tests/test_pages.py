"""Pages whose commands need a run at work, senders, a broker or a studio: run in order, in an empty folder.

Each page is run as it stands; what is replaced are addresses, and sizes so that it takes seconds.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.kafka import PASSWORD, USER, Broker
from tests.test_how_to import ROOT, run_page, script_of

REPORTS = "time,vehicle,speed\n" + "".join(f"{t},{v},{90 + 10 * v}\n" for t in range(0, 180, 10) for v in (1, 2, 3))


def beside_a_run(script: str) -> str:
    """The script, which waits for a run that it starts in the background, and in the end for it to be over."""
    begun = r"\1 &\nuntil test -e \2/run.json; do sleep 0.2; done"
    return re.sub(r"^(arterial .*--out (\S+).*) &$", begun, script, flags=re.MULTILINE) + "\nwait\n"


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_on_attaching(tmp_path: Path) -> None:
    def smaller(script: str) -> str:
        script = script.replace("--seconds 600", "--seconds 240 --density 0.05")
        return beside_a_run(script.replace('--keep "1 hour" &', '--keep "1 hour" --speed 20 &'))

    out = run_page("runtime/attach", tmp_path, smaller)
    lines = out.splitlines()
    assert "59,+,1,88.0" in lines
    assert lines.count("# complete") == 4
    assert "accepted as version 2" in out
    cars = tmp_path / "empty" / "cars"
    adopted = pl.read_csv(cars / "slow.csv").select("time", "vehicle", "speed").sort("time", "vehicle")
    slow = pl.read_csv(cars / "reports.csv").filter(pl.col("speed") < 90).sort("time", "vehicle")
    assert adopted.rows() == slow.rows()


@pytest.mark.spark
@pytest.mark.slow
def test_the_page_on_views(tmp_path: Path) -> None:
    out = run_page("runtime/views", tmp_path, beside_a_run)
    assert "59,+,1,6" in out.splitlines()


@pytest.mark.spark
@pytest.mark.slow
def test_the_page_on_replacing(tmp_path: Path) -> None:
    out = run_page("runtime/replace", tmp_path, beside_a_run)
    assert "accepted as version 2" in out
    slow = pl.concat([pl.read_parquet(part) for part in (tmp_path / "empty/cars/alerts/slow").glob("*.parquet")])
    assert slow.height > 0
    assert slow["speed"].max() < 90


@pytest.mark.spark
@pytest.mark.slow
def test_the_page_on_lines_as_they_arrive(tmp_path: Path) -> None:
    header, *rows = REPORTS.splitlines()
    names = header.split(",")
    objects = "".join(json.dumps(dict(zip(names, map(int, row.split(",")), strict=True))) + "\n" for row in rows)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as free:
        port, listening = server.getsockname()[1], free.getsockname()[1]
        free.close()
        serving = threading.Thread(target=_answer, args=(server, objects + "#end\n"))
        sending = [threading.Thread(target=_send, args=(listening, REPORTS + "#end\n")) for _ in range(2)]
        for thread in (serving, *sending):
            thread.start()
        run_page(
            "live",
            tmp_path,
            lambda script: script.replace("10.0.0.7:5000", f"127.0.0.1:{port}").replace("1:5000", f"1:{listening}"),
        )
        for thread in (serving, *sending):
            thread.join()
    cars = tmp_path / "empty" / "cars"
    counts = {
        name: sum(pl.read_parquet(part)["reports"].sum() for part in (cars / name / "alerts").glob("*.parquet"))
        for name in ("alerts", "from-server", "from-senders")
    }
    fast = pl.read_csv(cars / "reports.csv").filter(pl.col("speed") > 100).height
    of_the_two = sum(int(row.split(",")[2]) > 100 and int(row.split(",")[0]) < 120 for row in rows)
    assert counts == {
        "alerts": fast,
        "from-server": sum(int(row.split(",")[2]) > 100 for row in rows),
        "from-senders": 2 * of_the_two,
    }


def _answer(server: socket.socket, text: str) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(text.encode())
        connection.recv(1)  # until the other side has gone


def _send(port: int, text: str) -> None:
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(text.encode())
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(100):
                    pass
                return
        except ConnectionRefusedError:
            time.sleep(0.2)


TOOLS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_page_on_kafka(tmp_path: Path, kafka: Broker) -> None:
    secret = tmp_path / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)

    def here(script: str) -> str:
        replaced = {
            "127.0.0.1:9092": kafka.server,
            "a:9092,b:9092": f"{kafka.server},{kafka.server}",
            # The page's first run on Spark goes on for ever, and reads JSON from a topic that then gets CSV.
            f"{kafka.server}/reports' --sink": f"{kafka.server}/reports?end=now' --out all --sink",
            "reports?format=csv": "lines?format=csv",
            "--isolation-level read_committed": "--isolation-level read_committed --timeout-ms 5000",
            "broker:9093/reports?security_protocol=SASL_SSL&sasl_mechanism=SCRAM-SHA-512&sasl_username=me": (
                f"127.0.0.1:{kafka.sasl_port}/reports?security_protocol=SASL_PLAINTEXT&sasl_mechanism=PLAIN"
                f"&sasl_username={USER}&end=now"
            ),
            "/run/secrets/kafka' --out alerts": f"{secret}' --out secured",
            "--seconds 600": "--seconds 60 --density 0.05",
        }
        for old, new in replaced.items():
            script = script.replace(old, new)
        for name, tool in TOOLS.items():
            script = script.replace(name, shlex.join(kafka.command(tool)))
        return script

    lines = [f"{row.split(',')[1]},{row.split(',')[0]},130".encode() for row in REPORTS.split()[1:]]
    kafka.send(kafka.topic(2, name="lines"), lines)
    out = run_page("kafka", tmp_path, here)
    assert out.count('"vehicle":') > 1
    assert "The run passes" in out


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A folder with a network and a run of it that is over."""
    commands = f"{shlex.quote(sys.executable)} -m arterial new cars && cd cars && cp cars.py speeding.py"
    run = f"{shlex.quote(sys.executable)} -m arterial run cars.py --source reports=reports.csv --out out --local"
    subprocess.run(["sh", "-c", f"{commands} && {run}"], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "cars"


def studio_commands() -> Iterator[str]:
    for line in script_of(ROOT / "docs" / "studio.md").splitlines():
        if line.startswith("arterial studio"):
            yield line.partition("#")[0].strip()


@pytest.mark.slow
def test_the_page_on_the_studio(finished: Path) -> None:
    commands = list(studio_commands())
    assert len(commands) >= 4
    for line in commands:
        command = [sys.executable, "-m", *shlex.split(line), "--port", "0", "--no-browser"]
        with subprocess.Popen(
            command, cwd=finished, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as shown:
            try:
                address = _address(shown)
                with urllib.request.urlopen(address) as page:
                    assert b"<div id=" in page.read()
            finally:
                shown.terminate()


def _address(shown: subprocess.Popen[str]) -> str:
    said = []
    for line in shown.stdout or ():
        said.append(line)
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError("".join(said))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_page_on_linear_road_from_boxes(tmp_path: Path) -> None:
    def smaller(script: str) -> str:
        return script.replace("--seconds 600", "--seconds 120 --density 0.05").replace("examples/", f"{ROOT}/examples/")

    assert "The run passes" in run_page("linear-road/boxes", tmp_path, smaller)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_page_on_rating(tmp_path: Path) -> None:
    def smaller(script: str) -> str:
        script = script.replace("--seconds 600", "--seconds 60 --density 0.05")
        script = script.replace("--start 16", "--start 1 --highest 1")
        # test_judge_page.py has other systems, test_rate.py a broker.
        return re.sub(r"^arterial .*(my-system|kafka:).*$", "", script, flags=re.MULTILINE)

    assert "(window mode, seconds 0 to 60); report: rating/rating.html" in run_page(
        "linear-road/rate", tmp_path, smaller
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_page_on_experiments(tmp_path: Path) -> None:
    run_page("moving/experiments", tmp_path, lambda script: script.replace("--out build", "--quick --out build"))
    assert list((tmp_path / "empty" / "build" / "moving").iterdir())
