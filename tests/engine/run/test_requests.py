"""Requests to a run: replace and optimise, through files, answered between two steps; on a local run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import polars as pl
import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import LocalRun
from arterial.engine.run.versions.optimizer import read_log
from arterial.engine.run.versions.requests import (
    OPTIMISE,
    REPLACE,
    REQUESTS,
    Answer,
    ask,
    give_answer,
    network_of,
    read_request,
)
from arterial.errors import ArterialError, RunError
from arterial.network.train import END, Train

STEPS, TUPLES = 400, 3000


def drawn(**outputs: str) -> art.Network:
    net = art.Network("n")
    s = net.source("s", {"time": int, "x": int, "note": str})
    s.map("more", y="x * x").filter("few", "x % 10 = 0").output("out")
    for name, predicate in outputs.items():
        s.filter(f"for {name}", predicate).output(name)
    return net


def tuples(step: int) -> pl.DataFrame:
    order = pl.int_range(step * TUPLES, (step + 1) * TUPLES, eager=True)
    return pl.DataFrame({"time": order // 10, "x": order, "note": order.cast(pl.String)})


@pytest.fixture
def running(tmp_path: Path) -> Iterator[LocalRun]:
    """A run that takes some seconds, a step at a time."""
    trains = [Train(tuples(step), (step + 1) * TUPLES // 10 - 1) for step in range(STEPS)]
    trains.append(Train(tuples(0).clear(), END))
    settings = art.Settings(shards=2, train_size=TUPLES, interval=0.02)
    run = LocalRun(drawn().value, {"s": MemorySource(trains)}, {"out": MemorySink()}, tmp_path / "c", settings)
    Thread(target=run.work, daemon=True).start()
    yield run
    run.stop()


def until(run: LocalRun, steps: int) -> None:
    patience = time.monotonic() + 30
    while run.status.step < steps:
        assert time.monotonic() < patience
        time.sleep(0.01)


def test_a_network_is_replaced(running: LocalRun, tmp_path: Path) -> None:
    until(running, 2)
    answer = ask(tmp_path / "c", REPLACE, drawn(odd="x % 2 = 1").value, {"odd": art.FileSink(tmp_path / "odd")})
    assert answer == Answer(True, "accepted as version 2", 2, answer.step)
    again = ask(tmp_path / "c", REPLACE, drawn(odd="x % 2 = 1").value)
    assert (again.accepted, again.said, again.version) == (True, "it runs already", 2)
    until(running, answer.step + 3)
    running.stop()
    odd = pl.concat([pl.read_parquet(path) for path in sorted((tmp_path / "odd").glob("part-*"))])
    first = (answer.step - 1) * TUPLES
    assert sorted(odd["x"].to_list()) == list(range(first + 1, running.status.step * TUPLES, 2))
    assert running["out"]["x"].sort().to_list() == list(range(0, running.status.step * TUPLES, 10))
    assert list((tmp_path / "c" / "arterial" / REQUESTS).iterdir()) == []


def test_what_cannot_be_is_refused_and_the_run_goes_on(running: LocalRun, tmp_path: Path) -> None:
    other = art.Network("n")
    other.source("others", {"time": int}).output("out")
    no_columns = art.Network("n")
    no_columns.source("s", {"time": int, "x": int, "note": str}).output("out")
    for network, said in (
        (other, "must have the same sources, s; it has others"),
        (drawn(odd="x % 2 = 1"), "the output 'odd' is new and has no sink"),
        (no_columns, "stream to 'out' are changed"),
    ):
        answer = ask(tmp_path / "c", REPLACE, network.value)
        assert not answer.accepted
        assert said in answer.said
    assert ask(tmp_path / "c", "dance").said == "unknown request 'dance'"
    assert running.version == 1
    before = running.status.step
    until(running, before + 2)
    assert running.state == "running"


def test_what_was_made_from_another_version_is_refused(running: LocalRun, tmp_path: Path) -> None:
    """Of two commands that add to the network at the same time, the second would take away what the first added."""
    odd, even = drawn(odd="x % 2 = 1").value, drawn(even="x % 2 = 0").value
    assert ask(tmp_path / "c", REPLACE, odd, {"odd": MemorySink()}, base=1).accepted
    answer = ask(tmp_path / "c", REPLACE, even, {"even": MemorySink()}, base=1)
    assert answer == Answer(
        False, "it was made from version 1 of the network, and version 2 runs by now; ask again", answer.version
    )
    assert answer.version == running.version == 2
    assert ask(tmp_path / "c", REPLACE, odd, base=1).said == "it runs already"
    assert ask(tmp_path / "c", REPLACE, even, {"even": MemorySink()}, base=2).accepted


def test_a_run_that_is_finished(tmp_path: Path) -> None:
    run = LocalRun(drawn().value, {"s": MemorySource([Train(tuples(0), END)])}, {}, tmp_path, art.Settings(shards=1))
    run.work()
    with pytest.raises(RunError, match=r"the run there is finished, since .*; it is too late to optimise"):
        ask(tmp_path, OPTIMISE)


def test_a_request_that_is_not_one(running: LocalRun, tmp_path: Path) -> None:
    folder = tmp_path / "c" / "arterial" / REQUESTS
    folder.mkdir(mode=0o700)
    for number, content in enumerate(["{", "[]", '{"what": "replace"}', '{"what": "replace", "network": "../x.json"}']):
        (folder / f"{number}.request").write_text(content)
    patience = time.monotonic() + 20
    while len(list(folder.glob("*.answer"))) < 4 and time.monotonic() < patience:
        time.sleep(0.02)
    answers = [json.loads(path.read_text()) for path in sorted(folder.glob("*.answer"))]
    assert [answer["accepted"] for answer in answers] == [False] * 4
    assert "not a request" in answers[0]["said"]
    (folder / "9.request").write_text('{"what": "optimise"}')
    (folder / "9.request").chmod(0o666)
    with pytest.raises(RunError, match="other users can write"):
        read_request(folder / "9.request")


def test_a_request_of_the_user_s_own_code(tmp_path: Path) -> None:
    """Functions go by value, through a pickle of the user's own."""
    from arterial.engine.run.versions.version_files import pack_network, put_by_content

    limit = 7

    @art.function(reads=["x"], produces="bool")
    def above(x: pl.Series) -> pl.Series:
        return x > limit

    net = art.Network("n")
    net.source("s", {"time": int, "x": int}).filter("few", above).output("out")
    content, suffix = pack_network(net.value)
    assert suffix == ".pickle"
    name = put_by_content(tmp_path, "1", content, suffix)
    (tmp_path / "1.request").write_text(json.dumps({"what": "replace", "network": name}))
    found, sinks = network_of(tmp_path / "1.request", read_request(tmp_path / "1.request"))
    assert sinks == {}
    assert found.box("few").predicate.body(pl.Series([7, 8])).to_list() == [False, True]  # type: ignore[attr-defined]
    give_answer(tmp_path / "gone.request", Answer(True, ""))
    assert not (tmp_path / "gone.answer").exists()


def test_only_a_run_that_runs_can_be_asked(running: LocalRun, tmp_path: Path) -> None:
    running.stop()
    with pytest.raises(RunError, match=r"the run there is stopped, and only one that runs .*start it"):
        ask(tmp_path / "c", OPTIMISE)
    with pytest.raises(RunError, match="has no run"):
        ask(tmp_path / "nothing", OPTIMISE)


def test_a_request_without_an_answer_is_withdrawn(running: LocalRun, tmp_path: Path) -> None:
    def deaf(folder: Path) -> None:
        return None

    running._answer_requests = deaf  # type: ignore[method-assign]
    with pytest.raises(RunError, match=r"gave no answer in 0\.2 s, so the request to optimise is withdrawn"):
        ask(tmp_path / "c", OPTIMISE, seconds=0.2)
    assert list((tmp_path / "c" / "arterial" / REQUESTS).iterdir()) == []


def test_a_request_that_the_run_works_on_is_not_said_to_be_withdrawn(running: LocalRun, tmp_path: Path) -> None:
    answers = running._replace_as_asked

    def slowly(*asked: object) -> Answer:
        time.sleep(0.5)
        return answers(*asked)  # type: ignore[arg-type]

    running._replace_as_asked = slowly  # type: ignore[method-assign]
    with pytest.raises(RunError, match=r"gave no answer in 0\.2 s, but is at work on the request to replace"):
        ask(tmp_path / "c", REPLACE, drawn(odd="x % 2 = 1").value, {"odd": MemorySink()}, seconds=0.2)
    patience = time.monotonic() + 20
    while running.version == 1 and time.monotonic() < patience:
        time.sleep(0.01)
    assert running.version == 2
    until(running, running.status.step + 2)
    assert list((tmp_path / "c" / "arterial" / REQUESTS).iterdir()) == []


def test_a_request_that_a_killed_run_had_taken_is_answered(running: LocalRun, tmp_path: Path) -> None:
    folder = tmp_path / "c" / "arterial" / REQUESTS
    folder.mkdir(mode=0o700)
    (folder / "1.taken").write_text('{"what": "dance"}')
    patience = time.monotonic() + 20
    while not (folder / "1.answer").exists():
        assert time.monotonic() < patience
        time.sleep(0.01)


@pytest.mark.thorough
def test_the_commands(running: LocalRun, tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "import arterial as art\n\n"
        "def net():\n"
        "    net = art.Network('n')\n"
        "    s = net.source('s', {'time': int, 'x': int, 'note': str})\n"
        "    s.map('more', y='x * x').filter('few', 'x % 10 = 0').output('out')\n"
        "    s.filter('odd', 'x % 2 = 1').output('odds')\n"
        "    return net\n"
    )
    until(running, 2)

    def said(*words: object, code: int = 0) -> str:
        got = CliRunner().invoke(app, [str(word) for word in words])
        if isinstance(got.exception, ArterialError):
            return str(got.exception)
        assert got.exit_code == code, got.output
        return got.output

    assert "changed nothing" in said("explain", tmp_path / "c", "--why")
    place = f"{tmp_path}/nets.py:net"
    assert "refused: network 'n': the output 'odds' is new" in said("replace", tmp_path / "c", place, code=1)
    sink = f"odds={tmp_path}/odds/"
    assert "accepted as version 2, from step" in said("replace", tmp_path / "c", place, "--sink", sink)
    until(running, running.status.step + 3)
    told = said("optimise", tmp_path / "c")
    assert "accepted as version 3: reorder" in told
    until(running, running.status.step + 8)
    why = said("explain", tmp_path / "c", "--why")
    assert "version 3, after step" in why
    assert "because of few" in why
    assert "came: " in why
    lines = said("explain", tmp_path / "c", "--why", "--json").splitlines()
    assert json.loads(lines[0])["tactics"][0] == "reorder"
    assert json.loads(said("optimise", tmp_path / "c", "--json"))["accepted"] is True
    running.stop()
    assert running["out"]["x"].sort().to_list() == list(range(0, running.status.step * TUPLES, 10))
    assert "only one that runs can be asked to replace" in said("replace", tmp_path / "c", place)


@pytest.mark.thorough
def test_a_run_changes_its_own_network(tmp_path: Path) -> None:
    """With figures that are measured: an expensive Map before a Filter; the outputs are those of the drawing."""

    @art.function(reads=["x"], produces="int64")
    def slow(x: pl.Series) -> pl.Series:
        return pl.Series([sum(range(each % 40 + 400)) for each in x.to_list()])

    net = art.Network("n")
    s = net.source("s", {"time": int, "x": int, "note": str})
    few = s.map("work", work=slow).filter("few", "x % 10 = 0")
    few.group_by("x").tumble("t", every=50, total="sum(work)").output("out")
    # It takes six steps in a row that all say so; on a busy machine some do not.
    trains = [Train(tuples(step), (step + 1) * TUPLES // 10 - 1) for step in range(40)]
    trains.append(Train(tuples(0).clear(), END))
    got = {}
    for optimise in (False, True):
        settings = art.Settings(shards=2, train_size=TUPLES, optimise=optimise)
        checkpoint = tmp_path / str(optimise)
        run = LocalRun(net.value, {"s": MemorySource(trains)}, {"out": MemorySink()}, checkpoint, settings)
        run.work()
        assert run.wait(60)
        assert (run.version > 1) == optimise
        got[optimise] = run["out"]
    assert got[True].sort(got[True].columns).equals(got[False].sort(got[False].columns))
    log = read_log(tmp_path / "True" / "arterial")
    assert log[0]["tactics"][0] == "reorder"
    assert not read_log(tmp_path / "False" / "arterial")
