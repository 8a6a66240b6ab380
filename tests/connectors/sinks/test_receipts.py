"""Files that another host wrote count although the driver's listing of the folder is old."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.files import parts as files
from arterial.connectors.sinks.files.parts import FileSink
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import Train

STREAM = Stream(Schema.of({"t": int}), "t")


def written(folder: Path) -> tuple[FileSink, list[str]]:
    """A sink that merges, and what two tasks wrote."""
    sink = FileSink(folder / "out", merge=True).bind("out", STREAM, folder / "checkpoint")
    receipts = [sink.write(Delivery("out", 1, n, Train(pl.DataFrame({"t": [n]}), 1))) for n in (0, 1)]
    assert sink.write(Delivery("out", 1, 2, Train(STREAM.schema.empty(), 1))) is None
    return sink, [receipt for receipt in receipts if receipt is not None]


def test_a_merge_waits_until_all_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink, receipts = written(tmp_path)
    for receipt in receipts:
        sink.receive(1, receipt)
    late, listing = [receipts[1]], Path.iterdir

    def old(folder: Path) -> Iterator[Path]:
        found = [path for path in listing(folder) if path.name not in late]
        late.clear()
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", old)
    sink.finish()
    assert pl.read_parquet(tmp_path / "out.parquet")["t"].to_list() == [0, 1]


def test_what_never_comes_is_an_error_and_not_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink, _ = written(tmp_path)
    sink.receive(1, "part-000000001-007.parquet")
    monkeypatch.setattr(files, "LISTED_SECONDS", 0.0)
    with pytest.raises(RunError, match=r"a worker wrote part-000000001-007.parquet, but the driver does not see it"):
        sink.finish()
