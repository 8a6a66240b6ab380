"""A sink that keeps what arrives in the driver's memory, for tests, examples and notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import polars as pl

from arterial.connectors.sink import Delivery, Sink
from arterial.network.box import Stream
from arterial.network.schema import Schema


class MemorySink(Sink):
    """Keeps all trains of an output; a step that is run again replaces what it left before."""

    to_driver: ClassVar[bool] = True

    def __init__(self) -> None:
        self._schema: Schema | None = None
        self._parts: dict[tuple[int, int], pl.DataFrame] = {}

    def bind(self, output: str, stream: Stream, folder: Path) -> MemorySink:
        """Remember the schema."""
        self._schema = stream.schema
        return self

    def write(self, delivery: Delivery) -> None:
        """Keep what arrived. Runs on the driver."""
        self._parts[delivery.step, delivery.slot] = delivery.train.tuples

    def read(self) -> pl.DataFrame:
        """All tuples that arrived so far, in the order of steps and slots."""
        assert self._schema is not None
        parts = [self._parts[at] for at in sorted(self._parts) if self._parts[at].height]
        return pl.concat(parts) if parts else self._schema.empty()

    def __getstate__(self) -> dict[str, object]:
        return {"_schema": self._schema, "_parts": {}}
