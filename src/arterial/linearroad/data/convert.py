"""From any events to a data set of ours, as Parquet or as the paper's flat file (§3.1.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np

from arterial.errors import DataError
from arterial.linearroad.data.clean_set import MADE_BY, REJECTS_FILE, Cleaning, clean_into
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.data.event_files import CITY_FILE, CSV_FILE, new_data_set, write_city, writing
from arterial.linearroad.data.event_sources import Sources, is_data_set
from arterial.linearroad.semantics.city import MINUTE_SECONDS
from arterial.storage.place import draft_folder, remove_drafts, rename

FORMATS = ("parquet", "csv")


def convert(
    source: Path,
    out: Path,
    *,
    form: str = "parquet",
    disorder: int = 0,
    rejects: Path | None = None,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Cleaning:
    """Clean the events of `source` and write them to the folder `out`, or to one file if its name ends in .csv.

    Nothing is left at `out` if it fails. Lines set aside go to `rejects`, by default a file in the folder, or beside
    the file. `progress` gets how many bytes of the source are done.
    """
    if form not in FORMATS:
        raise DataError(f"unknown format {form!r}; there are: {', '.join(FORMATS)}")
    as_file = out.suffix == ".csv"
    check_target(out, force=force)
    if (aside := rejects_path(out, rejects)).exists() and not aside.is_relative_to(out) and not force:
        raise DataError(f"{aside}: exists already; choose another name for the rejects, or give --force to replace it")
    sources = None if is_data_set(source) else Sources(source, disorder=disorder)
    with replacing(out) as partial:
        if sources is None:
            done = _copy(Data(source, source), partial, form="csv" if as_file else form, progress=progress)
        else:
            aside = partial / REJECTS_FILE if aside == out / REJECTS_FILE else aside
            done = clean_into(sources, partial, form="csv" if as_file else form, rejects=aside, progress=progress)
    return done


def rejects_path(out: Path, rejects: Path | None) -> Path:
    """Where the lines set aside will be."""
    return rejects or (out.with_name(f"{out.stem}.rejects.csv") if out.suffix == ".csv" else out / REJECTS_FILE)


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A folder to write to, which becomes `out` if all went well (or its flat file does, for a name in .csv)."""
    with ExitStack() as stack:
        with writing(out):
            remove_drafts(out.parent, out.name)
            partial = stack.enter_context(draft_folder(out))
        yield partial
        with writing(out):
            rename(partial / CSV_FILE if out.suffix == ".csv" else partial, out)


def check_target(out: Path, *, force: bool) -> None:
    """Refuse to write over anything that is not ours to replace."""
    with writing(out):
        if not out.exists() or (out.is_dir() and not any(out.iterdir())):
            return
    if not force:
        raise DataError(f"{out}: exists already; choose another name, or give --force to replace it")
    if not (out.suffix == ".csv" and out.is_file()) and not (out / CITY_FILE).is_file():
        raise DataError(f"{out}: is no data set, so it is not replaced; choose another name")


def _copy(data: Data, folder: Path, *, form: str, progress: Callable[[float], None] | None) -> Cleaning:
    """Write one of our own data sets again; its events are clean and in order."""
    size = sum(path.stat().st_size for path in data.parquet_files.values())
    counts = np.zeros(5, np.int64)
    span = max(data.last_second + 1 - data.first_second, 1)
    # Requests do not name their expressway, so a file of an expressway is copied for itself.
    groups = [[xway] for xway in data.xways] if form == "parquet" else [list(data.xways)]
    with new_data_set(folder, form) as out:
        for start in range(data.first_second, data.last_second + 1, MINUTE_SECONDS):
            stop = min(start + MINUTE_SECONDS, data.last_second + 1)
            for xways in groups:
                events = data.read(start, stop, xways)
                out.write(events, np.full(events.num_rows, xways[0], np.int32))
                counts += np.bincount(events["type"].to_numpy(), minlength=5)
            if progress:
                progress(size * (stop - data.first_second) / span)
    done = Cleaning(
        events=data.events,
        xways=list(data.xways),
        first_second=data.first_second,
        last_second=data.last_second,
        counts={str(kind): int(count) for kind, count in enumerate(counts) if count},
        lines=data.events,
        blank_lines=0,
    )
    write_city(folder, {**data.facts, **MADE_BY, "format": form, "cleaning": asdict(data.cleaning or done)})
    return done
