"""Writing a clean data set from any events; the lines set aside go to a file, and what was found is counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from arterial.connectors.rejects import SEVERAL_FILES, Rejects
from arterial.errors import DataError
from arterial.linearroad.data.event_files import CITY_FILE, new_data_set, write_city
from arterial.linearroad.data.event_sources import Sources, one_ahead
from arterial.version import __version__

REJECTS_FILE = "rejects.csv"
MADE_BY = {"version": __version__, "made_by": "convert"}


@dataclass(frozen=True)
class Cleaning:
    """What came of cleaning; kept in the `city.json` of a data set that was converted."""

    events: int
    xways: list[int]
    first_second: int
    last_second: int
    counts: dict[str, int]
    lines: int
    blank_lines: int
    rejected: dict[str, int] = field(default_factory=dict)
    early_reports: int = 0
    off_ramp_reports: int = 0

    @property
    def set_aside(self) -> int:
        """How many lines were not taken over."""
        return sum(self.rejected.values())


def clean_into(
    sources: Sources,
    folder: Path,
    *,
    form: str = "parquet",
    rejects: Path,
    progress: Callable[[float], None] | None = None,
) -> Cleaning:
    """Write the clean events of `sources` as a data set in the existing `folder`."""
    kinds: Counter[int] = Counter()
    xways: set[int] = set()
    first, last = -1, -1
    aside = Rejects(rejects, SEVERAL_FILES)
    with new_data_set(folder, form) as out:
        for piece in one_ahead(sources.pieces(progress)):
            aside.add(piece.rejects)
            if not piece.events.num_rows:
                continue
            times = piece.events["time"]
            first = times[0].as_py() if first < 0 else first
            last = times[-1].as_py()
            found, counts = np.unique(piece.events["type"].to_numpy(), return_counts=True)
            kinds.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
            xways.update(np.unique(piece.watched.xways).tolist())
            out.write(piece.events, piece.watched.xways)
    cleaners = [file.cleaner for file in sources.files]
    if not kinds:
        why = "".join(f"; line {one.line}: {one.reason}: {one.text!r:.80}" for one in aside.examples[:1])
        raise DataError(f"{sources.path}: not one line is an event of Linear Road{why}")
    done = Cleaning(
        events=sum(kinds.values()),
        xways=sorted({max(xway, 0) for xway in xways}),
        first_second=first,
        last_second=last,
        counts={str(kind): kinds[kind] for kind in sorted(kinds)},
        lines=sum(cleaner.lines for cleaner in cleaners),
        blank_lines=sum(cleaner.blank for cleaner in cleaners),
        rejected=dict(aside.counts.most_common()),
        early_reports=sources.watch.early,
        off_ramp_reports=sources.watch.off_ramp,
    )
    write_city(folder, {**facts_of(sources.path), **MADE_BY, "format": form, "cleaning": asdict(done)})
    return done


def facts_of(path: Path) -> dict[str, Any]:
    """The city.json of a data set; nothing for events of others."""
    file = path / CITY_FILE
    try:
        facts: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    except (OSError, ValueError) as fault:
        raise DataError(f"{file}: cannot be read: {fault}; simulate or convert the data again") from fault
    return facts


def read_cleaning(folder: Path) -> Cleaning | None:
    """What a converted data set says of its cleaning."""
    facts = facts_of(folder)
    return Cleaning(**facts["cleaning"]) if "cleaning" in facts else None
