"""Where an expressway's reports wait, column by column, between being simulated and being written as events."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arterial.linearroad.simulate.road import Reports

_KINDS = {"trip": np.int32, "along": np.int32, "speed": np.int8, "lane": np.int8}


def spool_reports(folder: Path, chunks: Iterable[Reports]) -> int:
    """Write the reports of one direction, chunk by chunk; returns their number."""
    folder.mkdir(parents=True)
    files = {name: (folder / name).open("wb") for name in _KINDS}
    until: list[NDArray[np.int64]] = []
    total = 0
    try:
        for chunk in chunks:
            for name, file in files.items():
                # tofile() says nothing useful of a full disk; write() does.
                file.write(memoryview(getattr(chunk, name)))
            until.append(chunk.until + total)
            total += len(chunk.trip)
    finally:
        for file in files.values():
            file.close()
    np.save(folder / "until.npy", np.concatenate(until))
    return total


def read_reports(folder: Path) -> Reports:
    """The reports of one direction, read from the disk only as they are used."""
    until = np.load(folder / "until.npy")
    # A file without a byte cannot be mapped.
    columns = [np.memmap(folder / name, kind, "r") if until[-1] else np.empty(0, kind) for name, kind in _KINDS.items()]
    return Reports(*(np.asarray(column) for column in columns), until)


def no_reports(seconds: int) -> Reports:
    """The reports of a direction that does not exist."""
    return Reports(*(np.empty(0, kind) for kind in _KINDS.values()), np.zeros(seconds, np.int64))
