"""`arterial check`: what it prints from the figures of a run, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from arterial import FileSource, Network, Settings
from arterial.cli.main import app
from arterial.cli.parts.network import load_network
from arterial.engine.run.local import run_locally
from arterial.errors import ArterialError

NETWORK = """
import arterial as art
net = art.Network("roads")
reports = net.source("reports", {"time": int, "speed": float})
reports.map("metric", kmh="speed * 1.6").filter("fast", "kmh > 100").output("alerts", qos=art.Delay(2, 10))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network, a sample, and a local run of it."""
    here = tmp_path_factory.mktemp("check")
    (here / "roads.py").write_text(NETWORK)
    frame = pl.DataFrame({"time": [i // 10 for i in range(200_000)], "speed": [float(i % 125) for i in range(200_000)]})
    frame.write_parquet(here / "reports.parquet")
    source = FileSource(here / "reports.parquet")
    running = run_locally(
        load_network(f"{here}/roads.py"), {"reports": source}, {}, here / "out", Settings(train_size=20_000)
    )
    running.wait()
    return here


def invoke(*words: str):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(app, list(words))


def test_from_the_figures_of_a_run(folder: Path) -> None:
    found = invoke("check", f"{folder}/roads.py", "-r", "reports=1000", "--figures", f"{folder}/out", "--cores", "1")
    assert found.exit_code == 0, found.output
    for words in ("metric", "bottleneck", "saturates at", "output alerts: good zone 2 s", "first to leave", "enough"):
        assert words in found.output


def test_costs_of_a_first_step_are_unsure(folder: Path, tmp_path: Path) -> None:
    network, frame = load_network(f"{folder}/roads.py"), pl.read_parquet(folder / "reports.parquet")
    said = {}
    for rows, size in ((500, 500), (20_000, 20_000), (60_000, 5_000)):
        frame.head(rows).write_parquet(tmp_path / "some.parquet")
        sources, out = {"reports": FileSource(tmp_path / "some.parquet")}, tmp_path / f"out{rows}"
        run_locally(network, sources, {}, out, Settings(train_size=size, schedule="off")).wait()
        found = invoke("check", f"{folder}/roads.py", "-r", "reports=1000", "--figures", str(out), "--json")
        said[rows] = found.stderr
    assert "read at most 500 tuples, too few" in said[500]
    assert "in which code is loaded" in said[20_000]
    assert not said[60_000]


def test_too_much(folder: Path) -> None:
    found = invoke("check", f"{folder}/roads.py", "-r", "reports=1e12", "--figures", f"{folder}/out")
    assert found.exit_code == 1
    assert "NOT enough" in found.output
    assert "grows without bound" in found.output


def test_boxes_that_the_run_did_not_have_are_named(folder: Path, tmp_path: Path) -> None:
    more = 'reports.map("metric", kmh="speed * 1.6").filter("slow", "kmh < 9").output("rest")\n'
    kept = 'reports.connection_point("kept", 60).filter("moves", "speed > 0").view("not_kept")\n'
    (tmp_path / "more.py").write_text(NETWORK.partition("reports.map")[0] + more + kept)
    words = ("check", f"{tmp_path}/more.py", "-r", "reports=1000", "--figures", f"{folder}/out")
    assert "not counted, since the run did not have them: kept, slow, rest" in " ".join(invoke(*words).output.split())
    assert json.loads(invoke(*words, "--json").output)["without_figures"] == ["kept", "slow", "rest"]


@pytest.mark.parametrize(("option", "number"), [("--cores", "-2"), ("--train-size", "0")])
def test_numbers_that_cannot_be(folder: Path, option: str, number: str) -> None:
    found = invoke("check", f"{folder}/roads.py", "-r", "reports=5", "--figures", f"{folder}/out", option, number)
    assert found.exit_code == 2
    assert f"Invalid value for '{option}'" in found.output


def test_as_json(folder: Path) -> None:
    found = invoke("check", f"{folder}/roads.py", "-r", "reports=1000", "--figures", f"{folder}/out", "--json")
    said = json.loads(found.output)
    assert said["first_to_leave"] == "alerts"
    assert said["without_figures"] == []
    boxes = {box["name"]: box for box in said["boxes"]}
    assert boxes["fast"]["rate"] == pytest.approx(1000, rel=0.01)
    assert boxes["alerts"]["rate"] == pytest.approx(500, rel=0.05)
    assert boxes["metric"]["selectivity"] == 1
    assert boxes["fast"]["selectivity"] == pytest.approx(62 / 125, abs=0.01)


def test_measured_now(folder: Path) -> None:
    sample = f"reports={folder}/reports.parquet"
    found = invoke("check", f"{folder}/roads.py", "-r", "1000", "--measure", "-s", sample, "--local", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["saturates_at"] > 10


@pytest.mark.thorough
def test_a_replay(folder: Path) -> None:
    """Twenty thousand seconds of data in about two."""
    words = ("check", f"{folder}/roads.py", "--replay", f"{folder}/reports.parquet", "--local", "--speed", "10000")
    found = invoke(*words)
    assert found.exit_code == 0, found.output
    assert "output alerts: delay p99" in found.output
    assert "in its good zone" in found.output
    said = json.loads(invoke(*words, "--seconds", "1", "--json").output)
    assert said["kept_up"]
    assert said["rates"]["reports"] > 10_000


@pytest.mark.thorough
def test_a_replay_of_a_run(folder: Path, tmp_path: Path) -> None:
    """The run knows its network and what it read."""
    sample = f"reports={folder}/reports.parquet"
    ran = invoke("run", f"{folder}/roads.py:net", "-s", sample, "--out", f"{tmp_path}/ran", "--local")
    assert ran.exit_code == 0, ran.output
    words = ("--local", "--speed", "10000", "--seconds", "1", "--json")
    assert json.loads(invoke("check", "--replay", f"{tmp_path}/ran", *words).output)["rates"]["reports"] > 10_000
    other = invoke("check", "--replay", f"{tmp_path}/ran", "-s", sample, *words)
    assert json.loads(other.output)["rates"]["reports"] > 10_000
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "reports.parquet").hardlink_to(folder / "reports.parquet")
    by_name = invoke("check", f"{folder}/roads.py", "--replay", f"{tmp_path}/inputs", *words)
    assert json.loads(by_name.output)["rates"]["reports"] > 10_000
    found = invoke("check", "--replay", f"{folder}/out")
    with pytest.raises(ArterialError, match="it does not say what its sources read"):
        raise found.exception
    found = invoke("check", "--replay", f"{tmp_path}/inputs")
    with pytest.raises(ArterialError, match="no run is there; say which network these inputs are for"):
        raise found.exception


def test_a_replay_of_a_connection_point(folder: Path, tmp_path: Path) -> None:
    """Its files are sorted by the storage key, and may be several."""
    net = Network("keeping")
    net.source("reports", {"time": int, "speed": float}).connection_point("kept", "1 day", "speed").output("all")
    source = FileSource(folder / "reports.parquet", until=3000)
    run_locally(net.value, {"reports": source}, {}, tmp_path, Settings(train_size=10_000)).wait()
    words = ("--local", "--speed", "3000", "--seconds", "9", "--json")
    network, kept = f"{folder}/roads.py", f"{tmp_path}/points/kept"
    for recorded in (("--replay", kept), ("--replay", f"{folder}/reports.parquet", "-s", f"reports={kept}")):
        found = invoke("check", network, *recorded, *words)
        assert found.exit_code == 0, found.output
        assert json.loads(found.output)["rates"]["reports"] > 10_000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-r", "report=5", "--figures", "x"], "no source 'report'.*'reports'"),
        (["-r", "reports=many", "--figures", "x"], "expected a number of tuples a second, got 'many'"),
        (["-r", "reports=-1", "--figures", "x"], "expected a number of tuples a second"),
        (["--figures", "x"], "give --rate reports=TUPLES"),
        (["-r", "reports=5"], "either --figures DIR"),
        (["-r", "reports=5", "--figures", "x", "--measure"], "either --figures DIR"),
        (["-r", "reports=5", "--figures", "/nowhere"], "no run is there"),
        (["--replay", "x", "-r", "reports=5"], "leave out --rate"),
        (["--replay", "x", "--speed", "0"], "numbers above 0"),
        (["--replay", "/nowhere"], "it is not there; expected the folder of a run"),
        (["-r", "reports=5", "--figures", "x", "--headroom", "3"], "a share above 0, up to 1"),
    ],
)
def test_what_is_refused(folder: Path, words: list[str], says: str) -> None:
    found = invoke("check", f"{folder}/roads.py", *words)
    assert isinstance(found.exception, ArterialError)
    with pytest.raises(ArterialError, match=says):
        raise found.exception
