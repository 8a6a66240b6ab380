"""Files that grow step by step, each piece once."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import IO

import polars as pl
import pytest

from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.files.appended import AppendedSink
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import Train
from arterial.storage.appended import AppendedFiles

STREAM = Stream(Schema.of({"t": int}), "t")


class CsvLines(AppendedSink):
    """As a user would write it."""

    def write_lines(self, delivery: Delivery, file: IO[bytes]) -> None:
        delivery.train.tuples.write_csv(file, include_header=False)


def deliver(sink: AppendedSink, step: int, slot: int, *values: int) -> None:
    """What a task does: its copy of the sink comes through a pickle."""
    tuples = pl.DataFrame({"t": values}, schema=STREAM.schema.polars())
    pickle.loads(pickle.dumps(sink)).write(Delivery("out", step, slot, Train(tuples, step)))


def test_what_was_not_noted_is_cut_off(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"

    def opened() -> AppendedFiles:
        files = AppendedFiles({"a": one, "b-c": two}, tmp_path / "parts")
        files.open(tmp_path / "not used")
        return files

    files = opened()
    assert files.step == -1
    _leave(files, 4, [("b-c", 0, "b"), ("a", 1, "c"), ("a", 0, "a")])
    files.kept = {"lines": 3}
    files.append(4)
    with one.open("ab") as file:
        file.write(b"half of a st")  # and then the process was killed
    files = opened()
    assert (files.step, files.kept) == (4, {"lines": 3})
    _leave(files, 4, [("a", 0, "a")])  # run again
    files.append(4)
    _leave(files, 5, [("b-c", 0, "d")])
    files.append(5)
    assert (one.read_text(), two.read_text()) == ("a\nc\n", "b\nd\n")
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["journal.json"]


def test_a_file_that_lost_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    files = AppendedFiles({"a": file}, tmp_path / "parts")
    files.open(tmp_path)
    _leave(files, 1, [("a", 0, "a line")])
    files.append(1)
    file.unlink()
    with pytest.raises(RunError, match="shorter than the run left it"):
        AppendedFiles({"a": file}, tmp_path / "parts").open(tmp_path)


def test_a_sink_of_one_file_writes_every_line_once(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    sink = CsvLines(AppendedFiles({"0": out}))
    assert sink.bind("out", STREAM, tmp_path / "run") is sink
    for _ in range(2):  # a step may be run again, and committed again
        deliver(sink, 0, 1, 3)
        deliver(sink, 0, 0, 1, 2)
        sink.commit(0)
    deliver(sink, 1, 0)
    sink.commit(1)
    deliver(sink, 2, 0, 4)
    again = CsvLines(AppendedFiles({"0": out}))
    again.bind("out", STREAM, tmp_path / "run")
    deliver(again, 2, 0, 4)
    again.commit(2)
    assert out.read_text() == "1\n2\n3\n4\n"


def test_sinks_share_a_file(tmp_path: Path) -> None:
    files = AppendedFiles({"1": tmp_path / "out.csv", "2": tmp_path / "out.csv"})
    sinks = [CsvLines(files, kind) for kind in ("1", "2")]
    for sink in sinks:
        sink.bind("out", STREAM, tmp_path)
    for step in range(2):
        deliver(sinks[1], step, 0, 20 + step)
        deliver(sinks[0], step, 0, 10 + step)
        for sink in sinks:
            sink.commit(step)
    assert (tmp_path / "out.csv").read_text() == "10\n20\n11\n21\n"


def test_what_cannot_be_written_is_reported(tmp_path: Path) -> None:
    sink = CsvLines(AppendedFiles({"0": tmp_path / "none" / "out.csv"}))
    with pytest.raises(RunError, match=r"out\.csv: cannot be written: No such file"):
        sink.bind("out", STREAM, tmp_path)


def _leave(files: AppendedFiles, step: int, parts: list[tuple[str, int, str]]) -> None:
    for kind, slot, line in parts:
        files.part(kind, step, slot).write_text(f"{line}\n")


def test_a_part_that_a_task_named_is_found_though_the_folder_does_not_list_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As over a network, where the listing of a folder may be older than a file that another host has put there."""
    sink = CsvLines(AppendedFiles({"0": tmp_path / "out.csv"}))
    sink.bind("out", STREAM, tmp_path)
    tuples = pl.DataFrame({"t": [1, 2]}, schema=STREAM.schema.polars())
    receipts = [sink.write(Delivery("out", 1, slot, Train(tuples, 1))) for slot in (1, 0)]
    empty = sink.write(Delivery("out", 1, 2, Train(tuples.clear(), 1)))
    assert receipts == ["step-000000001-0-001.part", "step-000000001-0-000.part"]
    assert empty is None
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    for receipt in receipts:
        assert receipt is not None
        sink.receive(1, receipt)
    sink.commit(1)
    assert (tmp_path / "out.csv").read_text() == "1\n2\n1\n2\n"
    sink.receive(2, "step-000000002-0-000.part")
    with pytest.raises(RunError, match=r"step-000000002-0-000.part: cannot be written: No such file"):
        sink.commit(2)


def test_what_a_task_leaves_that_was_late_goes(tmp_path: Path) -> None:
    sink = CsvLines(AppendedFiles({"0": tmp_path / "out.csv"}))
    sink.bind("out", STREAM, tmp_path)
    deliver(sink, 1, 0, 7)
    sink.commit(1)
    deliver(sink, 1, 0, 7)  # a worker that was cut off comes back
    deliver(sink, 2, 0, 8)
    deliver(sink, 2, 0, 8)
    sink.commit(2)
    assert (tmp_path / "out.csv").read_text() == "7\n8\n"
    (tmp_path / "sinks" / "out" / ".step-000000003-0-000.part.9fca844852a44104.draft").touch()  # and one is killed
    again = CsvLines(AppendedFiles({"0": tmp_path / "out.csv"}))
    again.bind("out", STREAM, tmp_path)
    assert [path.name for path in (tmp_path / "sinks" / "out").iterdir()] == ["journal.json"]
    assert (tmp_path / "out.csv").read_text() == "7\n8\n"
