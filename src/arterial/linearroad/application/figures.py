"""Figures of a finished run: how many answers of each type, and how fast they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.formats.answers import ANSWER_TYPES, TABLE_OF_TYPE
from arterial.linearroad.formats.dialects import Dialect, chunks_of, output_files, parse, read_chunk

PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "worst": 100}


def response_times(out: Path, dialect: Dialect) -> dict[str, dict[str, Any]]:
    """For each type of answer how many there are, and the percentiles of the seconds that they took."""
    waits: dict[int, list[Array]] = {t: [] for t in ANSWER_TYPES}
    for file in output_files(out):
        for span in chunks_of(file):
            answers = parse(read_chunk(file, *span), dialect).answers
            for answer_type, table in answers.tables():
                waits[answer_type].append((table["emit"].to_numpy() - table["time"].to_numpy()).astype(np.float32))
    told: dict[str, dict[str, Any]] = {}
    for answer_type, pieces in waits.items():
        waited = np.concatenate(pieces) if pieces else np.empty(0, np.float32)
        told[TABLE_OF_TYPE[answer_type]] = {
            "answers": int(waited.size),
            **{
                name: round(float(np.percentile(waited, percent)), 3) if waited.size else None
                for name, percent in PERCENTILES.items()
            },
        }
    return told
