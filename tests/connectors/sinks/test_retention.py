"""Old files of an output go, those of the step at hand and young ones stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import arterial as art
from arterial.connectors.sinks.files.retention import remove_old
from arterial.connectors.uri import sink_from
from arterial.engine.host.failures import trim_rejects
from arterial.errors import RunError
from tests.engine.run.watch.watched import SCHEMA, in_file


def test_old_files_are_removed(tmp_path: Path) -> None:
    for step in range(1, 17):
        path = tmp_path / f"part-{step:09d}-000.csv"
        path.touch()
        if step < 10 or step == 16:
            os.utime(path, (1, 1))
    (tmp_path / "of-somebody-else.csv").touch()
    os.utime(tmp_path / "of-somebody-else.csv", (1, 1))
    remove_old(tmp_path, 3600, 15)
    assert len(list(tmp_path.iterdir())) == 17, "it looks only now and then"
    remove_old(tmp_path, 3600, 16)
    steps = sorted(int(path.name[5:14]) for path in tmp_path.glob("part-*"))
    assert steps == list(range(10, 17))
    assert (tmp_path / "of-somebody-else.csv").exists()


def test_a_run_keeps_what_it_should(tmp_path: Path) -> None:
    net = art.Network("kept")
    net.source("reports", SCHEMA).output("out")
    sink = sink_from(f"{tmp_path}/out/?format=csv&keep=0.000001 seconds", "out", tmp_path / "parts")
    path = in_file(tmp_path, 400)
    art.run(net, reports=path, out=sink, local=True, settings=art.Settings(train_size=10, shards=1)).wait()
    left = list((tmp_path / "out").glob("part-*"))
    assert 0 < len(left) <= 20


def test_what_killed_tasks_left_goes_at_the_end(tmp_path: Path) -> None:
    net = art.Network("kept")
    net.source("reports", SCHEMA).output("out")
    draft = tmp_path / "out" / ".part-000000003-000.parquet.9fca844852a44104.draft"
    draft.parent.mkdir()
    draft.touch()
    art.run(net, reports=in_file(tmp_path, 40), out=art.FileSink(tmp_path / "out"), local=True).wait()
    assert not draft.exists()
    assert list(draft.parent.glob("part-*"))


def test_a_retention_that_cannot_be(tmp_path: Path) -> None:
    net = art.Network("kept")
    net.source("reports", SCHEMA).output("out")
    for keep, said in (("soon", "expected a duration such as 7 days"), ("0 seconds", "more than 0")):
        sink = sink_from(f"{tmp_path}/out/?keep={keep}", "out", tmp_path / "parts")
        with pytest.raises(RunError, match=said):
            art.run(net, reports=[], out=sink, local=True)
    with pytest.raises(RunError, match="keep are for folders"):
        sink_from(f"{tmp_path}/out.csv?keep=1 day", "out", tmp_path / "parts")
    with pytest.raises(RunError, match="leave out keep"):
        art.run(net, reports=[], out=art.FileSink(tmp_path / "o", merge=True, keep="1 day"), local=True)


def test_tuples_set_aside_are_bounded(tmp_path: Path) -> None:
    for step in range(10):
        (tmp_path / f"part-{step:09d}-000-000.jsonl").write_text("x" * 100)
    trim_rejects(tmp_path, most=350)
    assert sorted(path.name[5:14] for path in tmp_path.iterdir()) == [f"{step:09d}" for step in (7, 8, 9)]
    trim_rejects(tmp_path, most_files=2)
    assert len(list(tmp_path.iterdir())) == 2, "many small files are too many as well"
    trim_rejects(tmp_path, most=10)
    assert [path.name[5:14] for path in tmp_path.iterdir()] == [f"{9:09d}"], "the last ones stay in any case"
