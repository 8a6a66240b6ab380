"""Reads small files that a run keeps for itself; one that is damaged is named, with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.errors import RunError
from arterial.storage.remote import readable

if TYPE_CHECKING:
    import polars as pl


def read_json(path: Path) -> Any:
    """What a file of JSON holds."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as broken:
        raise damaged(path, broken) from None


def read_parquet(path: Path) -> pl.DataFrame:
    """The tuples that the run put into a file; raises `FileNotFoundError` if there is none."""
    # Imported here: the process that forks workers imports this module, and Polars starts threads.
    import polars as pl

    try:
        return pl.read_parquet(readable(path), glob=False)
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as broken:
        raise damaged(path, (str(broken).strip().splitlines() or [type(broken).__name__])[0]) from None


def damaged(path: Path, why: object) -> RunError:
    """What to say of a file that is not what was written."""
    return RunError(
        f"{path}: is damaged ({why}). Something other than this run has changed it, or a power cut did: restore it "
        "from a copy, or begin from the start (--force, or a new folder as checkpoint)."
    )
