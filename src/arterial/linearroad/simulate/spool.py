"""Where an expressway's reports wait, column by column, between being simulated and being written as events."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arterial.linearroad.simulate.model.road import Reports

_COLUMNS = ("trip", "along", "speed", "lane")


def spool_reports(folder: Path, chunks: Iterable[Reports]) -> int:
    """Write the reports of one direction, chunk by chunk; returns their number."""
    folder.mkdir(parents=True)
    files = {name: (folder / name).open("wb") for name in _COLUMNS}
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
    if not until[-1]:
        return no_reports(len(until))  # a file without a byte cannot be mapped
    trip, along = (np.asarray(np.memmap(folder / name, np.int32, "r")) for name in ("trip", "along"))
    speed, lane = (np.asarray(np.memmap(folder / name, np.int8, "r")) for name in ("speed", "lane"))
    return Reports(trip, along, speed, lane, until)


def no_reports(seconds: int) -> Reports:
    """The reports of a direction that does not exist."""
    return Reports(
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int8),
        np.empty(0, np.int8),
        np.zeros(seconds, np.int64),
    )
