"""Figures of a finished run: how many answers of each type, and how fast they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.formats.answers import ANSWER_TYPES, TABLE_OF_TYPE
from arterial.linearroad.formats.dialects import Dialect, chunks_of, output_files, parse, read_chunk

PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "worst": 100}
_COUNTED = 10_000_000
"""Up to so many milliseconds waits are counted apart; Emit has no smaller part."""


def response_times(out: Path, dialect: Dialect) -> dict[str, dict[str, Any]]:
    """For each type of answer how many there are, and the percentiles of the seconds that they took."""
    counts: dict[int, Array] = {t: np.zeros(1, np.int64) for t in ANSWER_TYPES}
    for file in output_files(out):
        for span in chunks_of(file):
            answers = parse(read_chunk(file, *span), dialect).answers
            for answer_type, table in answers.tables():
                waited = (table["emit"].to_numpy() - table["time"].to_numpy()) * 1000
                counts[answer_type] = _added(
                    counts[answer_type], np.clip(np.rint(waited), 0, _COUNTED).astype(np.int64)
                )
    return {TABLE_OF_TYPE[answer_type]: _told(counted) for answer_type, counted in counts.items()}


def _added(counts: Array, milliseconds: Array) -> Array:
    more = np.bincount(milliseconds, minlength=counts.size)
    more[: counts.size] += counts
    return more


def _told(counts: Array) -> dict[str, Any]:
    """How many there are, and their percentiles in seconds, between neighbours in proportion."""
    ends = np.cumsum(counts)
    number = int(ends[-1])
    told: dict[str, Any] = {"answers": number}
    for name, percent in PERCENTILES.items():
        place = (number - 1) * percent / 100
        below, above = np.searchsorted(ends, (int(place), min(int(place) + 1, number - 1)), side="right")
        told[name] = round((below + (above - below) * (place % 1)) / 1000, 3) if number else None
    return told
