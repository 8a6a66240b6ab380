"""The commands of docs/cluster.md on HDFS and S3; on a local master, since the servers here are on loopback."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import polars as pl
import pytest

from arterial.cli.new import sample
from arterial.storage.place import make_folder, put_in_place
from tests.stores import RunningStore, environment_of
from tests.test_how_to import ROOT, path_with_commands, script_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

ADDRESSES = {"s3": "s3://city", "hdfs": "hdfs://node:8020"}


@pytest.mark.parametrize("name", ADDRESSES)
def test_the_command_of_the_page_on_clusters(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    store: RunningStore = request.getfixturevalue(name)
    lines = script_of(ROOT / "docs" / "cluster.md").splitlines()
    (line,) = [line for line in lines if line.startswith("arterial run") and ADDRESSES[name] in line]
    there = store.folder()
    line = line.replace(ADDRESSES[name], str(there)).replace("spark://HOST:7077", "local[2]")
    make_folder(there / "reports")
    put_in_place(there / "reports" / "a.csv", sample())
    script = f"arterial new cars && cd cars && {line} {shlex.join(store.spark)}"
    environment = {**environment_of(store), "PATH": path_with_commands(tmp_path)}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    # On S3 the page names a folder of the output, on HDFS the folder of the run.
    parts = (there / ("alerts" if name == "s3" else "alerts/alerts")).glob("part-*.parquet")
    assert sum(pl.read_parquet(part.read_bytes()).height for part in parts) == 6
