"""The log of a run: its lines, its bounds, and what is never in it."""

from __future__ import annotations

import errno
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

import arterial as art
from arterial.engine.run.watch.log import LogFile, LogWatcher, as_line, without_secrets
from arterial.engine.run.watch.watchers import Watch
from arterial.errors import RunError
from arterial.figures.steering import Drop, Steering
from tests.engine.run.watch.watched import feed, in_file, plan_of, speeding, step


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def logged(path: Path, level: str = "info") -> LogWatcher:
    return LogWatcher(Watch(log=str(path), log_format="json", log_level=level), plan_of(speeding()), "abcdef0123")


def test_a_run_logs_its_life(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    watch = Watch(log=str(path), log_format="json", log_level="debug")
    art.run(
        speeding(), reports=in_file(tmp_path, 100), local=True, settings=art.Settings(train_size=20, watch=watch)
    ).wait()
    found = lines(path)
    events = [line["event"] for line in found]
    assert events[0] == "started"
    assert events[-1] == "ended"
    assert events.count("step") >= 2
    assert {"event": "source", "source": "reports", "state": "reading"}.items() <= found[1].items()
    assert found[-1]["state"] == "finished"
    assert found[-1]["tuples_in"] == 100
    assert len({line["run"] for line in found}) == 1
    assert all(line["step"] <= after["step"] for line, after in pairwise(found))  # type: ignore[operator]
    worst = {line["box"] for line in found if line["event"] == "step" and "box" in line}
    assert worst, "a step names the box that took most of it"
    assert worst <= {box.name for box in speeding().value.boxes}


def test_a_run_that_fails_says_why_and_where(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    run = art.run(
        speeding(),
        reports=[{"time": 1, "vehicle": 1, "speed": 40}],
        alerts=_Failing(),
        local=True,
        settings=art.Settings(watch=Watch(log=str(path), log_format="json")),
    )
    with pytest.raises(RunError):
        run.wait()
    last = lines(path)[-1]
    assert (last["event"], last["state"], last["level"]) == ("ended", "failed", "warning")
    assert "hush" not in path.read_text()
    assert "…@db" in str(last["error"])


class _Failing(art.MemorySink):
    def write(self, delivery: object) -> None:
        raise RunError("box 'fast': cannot reach postgresql://me:hush@db/x?password=hush")


def test_decisions_rejects_versions_and_notices(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    log = logged(path)
    kept = feed(log, plan_of(speeding()), step(1), step(2, rejects=3))
    log.step(step(3), kept.status, Steering(shed={"a → b": Drop(0.5)}))
    log.notices(("a line was set aside",))
    log.notices(("a line was set aside", "and another"))
    log.close()
    by_event: dict[object, list[dict[str, object]]] = {}
    for line in lines(path):
        by_event.setdefault(line["event"], []).append(line)
    assert by_event["set aside"][0].items() >= {"tuples": 3, "step": 2, "level": "warning"}.items()
    assert by_event["decision"][0]["shed"]["a → b"]["share"] == 0.5  # type: ignore[index]
    assert len(by_event["step"]) == 1, "at level info steps are sampled"
    assert [line["message"] for line in by_event["notice"]] == ["a line was set aside", "and another"]


def test_the_file_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    log = LogFile(path, most_bytes=1000)
    for number in range(200):
        log.write(f"line {number:04d} " + "x" * 30)
    log.close()
    log.write("after the end")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.log", "run.log.1"]
    assert all(file.stat().st_size <= 1000 for file in tmp_path.iterdir())
    assert path.read_text().splitlines()[-1].startswith("line 0199")


def test_a_full_disk_stops_nothing(tmp_path: Path) -> None:
    log = LogFile(Path("/dev/full"))
    log.write("lost")
    log.write("lost")
    log.close()
    with pytest.raises(RunError, match=r"--log .*: cannot be written: No such file.*Name a file in a folder"):
        LogFile(tmp_path / "missing" / "run.log")


@pytest.mark.parametrize("how", ["json", "text"])
def test_what_a_full_disk_lost_is_said_in_the_format_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = tmp_path / "run.log"
    log = LogWatcher(Watch(log=str(path), log_format=how), plan_of(speeding()), "abcdef0123")
    write, room = os.write, [10]

    def full(number: int, content: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "full")
        return write(number, content[: room.pop()])

    try:
        log.say("info", "first", share=float("nan"))
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            log.say("info", "cut")
            log.say("info", "lost")
        log.say("info", "last")
    finally:
        log.close()
    said = path.read_text().splitlines()
    assert len(said) == 3
    assert "2 lines could not be written" in said[1]
    if how == "json":
        found = [json.loads(line, parse_constant=pytest.fail) for line in said]
        assert [one["event"] for one in found] == ["first", "lost", "last"]
        assert found[0]["share"] is None


def test_a_file_that_cannot_be_moved_is_written_when_it_can(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = LogFile(folder / "run.log", most_bytes=100)
    log.write("x" * 90)
    (folder / "run.log").unlink()
    folder.rmdir()
    for _ in range(3):
        log.write("y" * 50)
    folder.mkdir()
    log.write("z")
    log.close()
    assert (folder / "run.log").read_text() == "(3 lines could not be written)\nz\n"


def test_no_password_and_one_line_each() -> None:
    for text in (
        "kafka://user:hush@broker:9092/topic",
        "sasl.password=hush",
        "API_KEY: hush",
        "https://x/y?token=hush&b=1",
        "{'client_secret': 'x', 'aws_secret_access_key=hush'}",
    ):
        assert "hush" not in without_secrets(text)
    event = {"time": "t", "level": "info", "run": "abcdef0123", "step": 1, "event": "message", "message": "a\nb = 'c'"}
    assert as_line(event, "text") == "t INFO    message run=abcdef01 step=1 message=\"a\\nb = 'c'\""
    assert "\n" not in as_line(event, "json")


def test_what_is_not_a_format_or_level() -> None:
    with pytest.raises(RunError, match=r"--log-format 'jsn': expected one of text, json.*json"):
        Watch(log_format="jsn")
    with pytest.raises(RunError, match="--log-level 'all': expected one of debug, info, warning"):
        Watch(log_level="all")
