"""Whole runs whose inputs, look-up files, outputs and checkpoints are on S3 and HDFS."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import arterial as art
from arterial.errors import RunError
from arterial.storage.place import make_folder, put_in_place
from tests.stores import RunningStore

pytestmark = pytest.mark.slow

NETWORK = """
import arterial as art

net = art.Network("loads")
reports = net.source("reports", {"time": int, "machine": str, "load": float})
places = net.loaded_relation("places", {"machine": str, "hall": str}, key="machine")
placed = reports.group_by("machine").read_relation("placed", places)
kept = placed.connection_point("kept", "1 hour")
kept.tumble("per_ten", every="10 s", n="count(*)", total="sum(load)").output("sums")
placed.output("all")
"""
ROWS = [{"time": n, "machine": f"m{n % 3}", "load": n % 11 + 0.5} for n in range(600)]
PLACES = "machine,hall\nm0,a\nm1,b\nm2,c\n"


def network() -> art.Network:
    scope: dict[str, art.Network] = {}
    exec(NETWORK, scope)
    return scope["net"]


def right() -> dict[str, list[tuple[Any, ...]]]:
    places = pl.read_csv(BytesIO(PLACES.encode()))
    return {name: sorted(rows.rows()) for name, rows in art.collect(network(), reports=ROWS, places=places).items()}


def csv_of(rows: list[dict[str, Any]]) -> bytes:
    return pl.DataFrame(rows).write_csv().encode()


def written(folder: Path) -> list[tuple[Any, ...]]:
    frames = [pl.read_parquet(path.read_bytes()) for path in folder.glob("part-*.parquet")]
    return sorted(pl.concat(frames).rows())


def inputs(store: RunningStore) -> Path:
    folder = store.folder()
    make_folder(folder / "in")
    put_in_place(folder / "in" / "a.csv", csv_of(ROWS[:300]))
    put_in_place(folder / "in" / "b.csv", csv_of(ROWS[300:]))
    put_in_place(folder / "places.csv", PLACES)
    return folder


def test_inputs_of_every_kind(store: RunningStore) -> None:
    folder, frame = inputs(store), pl.DataFrame(ROWS)
    put_in_place(folder / "all.csv.gz", gzip.compress(csv_of(ROWS)))
    put_in_place(folder / "all.jsonl", frame.write_ndjson().encode())
    put_in_place(folder / "all.parquet", lambda file: frame.write_parquet(file, row_group_size=70))
    put_in_place(folder / "all.arrow", lambda file: frame.write_ipc(file, record_batch_size=70))
    for name in ("in", "in/*.csv", "all.csv.gz", "all.jsonl", "all.parquet", "all.arrow"):
        found = art.collect(network(), reports=str(folder / name), places=str(folder / "places.csv"))
        assert {output: sorted(rows.rows()) for output, rows in found.items()} == right(), name
    with pytest.raises(Exception, match=r"none\.csv does not exist"):
        art.collect(network(), reports=str(folder / "none.csv"), places=str(folder / "places.csv"))


def test_outputs_without_spark(store: RunningStore) -> None:
    folder = inputs(store)
    run = art.run(
        network(),
        reports=str(folder / "in"),
        places=str(folder / "places.csv"),
        local=True,
        sums=str(folder / "sums.parquet"),
        all=f"{folder}/all/",
    )
    assert run.wait(60)
    assert sorted(pl.read_parquet((folder / "sums.parquet").read_bytes()).rows()) == right()["sums"]
    assert written(folder / "all") == right()["all"]


def test_files_do_not_grow(store: RunningStore) -> None:
    with pytest.raises(RunError, match="files of a store cannot grow"):
        art.run(
            network(),
            reports=ROWS,
            places=pl.read_csv(BytesIO(PLACES.encode())),
            local=True,
            sums=f"{store.folder()}/sums.csv?grow",
        )


@pytest.mark.spark
def test_a_checkpoint_for_which_spark_has_no_client(s3: RunningStore, spark: SparkSession) -> None:
    """The session of the tests has no jars of S3."""
    places = pl.read_csv(BytesIO(PLACES.encode()))
    with pytest.raises(RunError, match=r"client for S3.* is missing .*S3AFileSystem.*spark.jars.packages=org.apache"):
        art.run(network(), reports=ROWS, places=places, checkpoint=str(s3.folder()))
