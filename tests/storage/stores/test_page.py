"""The commands of docs/cluster.md on HDFS and S3; on a local master, since the servers here are on loopback."""

from __future__ import annotations

import re
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

COMMANDS = {"from-s3": "s3://city", "--out s3://city": "s3://city", "--out hdfs://node": "hdfs://node:8020"}
"""What each command of the page is known by, and its address."""


@pytest.mark.parametrize("sign", COMMANDS)
def test_the_commands_of_the_page_on_clusters(sign: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    name = COMMANDS[sign].partition(":")[0]
    store: RunningStore = request.getfixturevalue(name)
    lines = script_of(ROOT / "docs" / "cluster.md").splitlines()
    (line,) = [line for line in lines if line.startswith("arterial run") and sign in line]
    line = re.sub(r"--spark-conf spark.jars.packages=\S+", "", line)
    there = store.folder()
    line = line.replace(COMMANDS[sign], str(there)).replace("spark://HOST:7077", "local[2]")
    make_folder(there / "reports")
    put_in_place(there / "reports" / "a.csv", sample())
    script = f"arterial new cars && cd cars && {line} {shlex.join(store.spark)}"
    environment = {**environment_of(store), "PATH": path_with_commands(tmp_path)}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [part for part in there.rglob("part-*.parquet") if part.parent.name == "alerts"]
    assert sum(pl.read_parquet(part.read_bytes()).height for part in parts) == 6
