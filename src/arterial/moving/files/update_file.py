"""The lines of a file of updates, `t,qid,+|-,object`: one writer for all hosts, so that their files are the same."""

from __future__ import annotations

from typing import IO

import numpy as np
import polars as pl

from arterial.arrays import Array


def write_updates(file: IO[bytes], times: pl.Series, queries: pl.Series, signs: Array, objects: pl.Series) -> None:
    """Write a line for every update; times are texts, signs are 1 and -1."""
    pl.DataFrame(
        {
            "t": times,
            "query": queries,
            "sign": pl.Series(["-", "+"]).gather((signs > 0).astype(np.int64)),
            "object": objects,
        }
    ).write_csv(file, include_header=False, quote_style="never")


def time_text(t: float) -> str:
    """A time as it is written.

    >>> time_text(7.0), time_text(7.25)
    ('7', '7.25')
    """
    return str(int(t)) if t == int(t) else repr(t)
