"""A rating from its first trial to its page, of Arterial and of another system."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import ArterialError
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.rate.rate import write_half
from tests.kafka import Broker

pytestmark = pytest.mark.spark

# Takes the driver's lines and leaves its answers where it is told: here another run of ours, which reads a pipe.
ADAPTER = """
import pathlib, shutil, subprocess, sys
output = pathlib.Path(sys.argv[1])
out = output.parent.parent / "theirs"
words = ["--data", "-?eof=end", "--out", out, "--speed", "1"]
subprocess.run([sys.executable, "-m", "arterial", "linear-road", "run", *words], check=True)
shutil.copy(out / "output.csv", output)
"""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    folder = tmp_path_factory.mktemp("rate") / "city"
    words = f"--out {folder} --xways 1 --seconds 70 --density 0.05 --seed 4".split()
    done = CliRunner().invoke(app, ["linear-road", "simulate", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return folder


def arterial(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=500)


def test_half_an_expressway_is_a_data_set(city: Path, tmp_path: Path) -> None:
    whole = open_data(city)
    write_half(whole, tmp_path / "half")
    half = open_data(tmp_path / "half")
    events = half.read(0, 70).to_pandas()
    reports = events[events["type"] == 0]
    assert set(reports["dir"]) == {0}
    assert 0.3 < half.events / whole.events < 0.7
    assert set(events["vid"]) == set(reports["vid"])


@pytest.mark.slow
def test_a_rating_of_arterial_goes_on_where_it_was(city: Path, tmp_path: Path) -> None:
    words = ("rate", "--data", city, "--out", tmp_path, "--from", 40, "--start", 0.5)
    first = arterial(*words, "--highest", 0.5)
    assert first.returncode == 0, first.stderr
    second = arterial(*words, "--highest", 1, "--json")
    assert second.returncode == 0, second.stderr
    assert "L = 0.5" not in second.stderr
    told = json.loads(second.stdout)
    assert told["rating"] == 1
    assert [trial["expressways"] for trial in told["trials"]] == [0.5, 1]
    assert told["trials"][0]["made_of"] == "half an expressway, simulated"
    assert all(trial["reports_per_second"] > 0 and trial["memory"] > 0 for trial in told["trials"])
    page = (tmp_path / "rating.html").read_text()
    assert "window: the seconds 40 to 70 in real time" in page


@pytest.mark.slow
def test_another_system_is_rated_through_an_adapter(city: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(ADAPTER)
    system = f"{shlex.quote(sys.executable)} {shlex.quote(str(adapter))} {{output}}"
    words = ("--mode", "official", "--start", 0.5, "--highest", 0.5, "--system", system, "--json")
    done = arterial("rate", "--data", city, "--out", tmp_path / "rating", *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rating"] == 0.5, json.dumps(told["trials"][0], indent=1)[:3000]
    broken = arterial("rate", "--data", city, "--out", tmp_path / "broken", *words[:-2], "false {output}", "--json")
    assert json.loads(broken.stdout)["rating"] == 0, broken.stderr


@pytest.mark.slow
def test_an_official_rating_by_a_faster_clock(city: Path, tmp_path: Path) -> None:
    """Responses are in seconds of the wall clock: none can be shorter than a step takes, whatever the speed."""
    words = ("rate", "--data", city, "--out", tmp_path, "--mode", "official", "--start", 1, "--highest", 1, "--json")
    done = arterial(*words, "--speed", 7)
    told = json.loads(done.stdout)
    assert told["rating"] == 1, done.stderr
    (trial,) = told["trials"]
    assert 0.05 < trial["responses"]["notices"]["p99"] < 5
    reports = open_data(city).read(0, 70).to_pandas().query("type == 0")
    assert trial["reports_per_second"] == pytest.approx(len(reports) / 10, abs=1)
    assert "the whole 70 seconds at 7 times real time" in (tmp_path / "rating.html").read_text()
    other = arterial(*words)
    assert other.returncode == 1
    assert "a rating with another speed is there" in other.stderr


@pytest.mark.slow
def test_a_rating_through_a_topic(kafka: Broker, city: Path, tmp_path: Path) -> None:
    """Of Arterial, and of another system that is told the topic."""
    words = ("--mode", "official", "--start", 0.5, "--highest", 0.5, "--through", kafka.uri("lr"), "--json")
    done = arterial("rate", "--data", city, "--out", tmp_path / "ours", *words)
    said = json.loads(done.stdout)
    assert said["rating"] == 0.5, done.stderr
    assert said["settings"]["system"] == "arterial through Kafka"
    adapter = tmp_path / "adapter.py"
    adapter.write_text(ADAPTER.replace('"-?eof=end"', "sys.argv[2]"))
    system = f"{shlex.quote(sys.executable)} {shlex.quote(str(adapter))} {{output}} {{topic}}"
    done = arterial("rate", "--data", city, "--out", tmp_path / "theirs", *words, "--system", system)
    assert json.loads(done.stdout)["rating"] == 0.5, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--through", "tcp://127.0.0.1:1"), "expected kafka://HOST:PORT/TOPIC"),
        (("--through", "kafka://127.0.0.1:1/t", "--from", "10"), "without --from"),
        (("--through", "kafka://127.0.0.1:1/t", "--tolls", "history"), "leave out --tolls"),
        (("--through", "kafka://127.0.0.1:1/t", "--speed", "2"), "--speed is for Arterial reading files"),
        (("--system", "cat", "--speed", "2"), "--speed is for Arterial reading files"),
        (("--speed", "0"), "must be a number above 0"),
        (("--system", "cat", "--profile", "paper"), "No profile 'paper'"),
        (("--system", "cat", "--dialect", "spec"), "No dialect 'spec'"),
    ],
)
def test_what_cannot_be_rated(city: Path, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    command = ["linear-road", "rate", "--data", str(city), "--out", str(tmp_path), *words]
    with pytest.raises(ArterialError, match=said):
        CliRunner().invoke(app, command, catch_exceptions=False)


@pytest.mark.slow
def test_the_driver_waits_for_a_system_that_starts_slowly(city: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.py"
    slowly = "import pathlib, sys, time\ntime.sleep(7)\npathlib.Path(sys.argv[2]).touch()\n"
    adapter.write_text(slowly + ADAPTER)
    system = f"{shlex.quote(sys.executable)} {shlex.quote(str(adapter))} {{output}} {{ready}}"
    words = ("--mode", "official", "--start", 0.5, "--highest", 0.5, "--json", "--system")
    done = arterial("rate", "--data", city, "--out", tmp_path / "rating", *words, system)
    assert json.loads(done.stdout)["rating"] == 0.5, done.stderr
    never = arterial("rate", "--data", city, "--out", tmp_path / "never", *words, "false {output} {ready}")
    assert json.loads(never.stdout)["rating"] == 0, never.stderr
