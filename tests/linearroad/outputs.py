"""Runs for tests: a city written as input files, and the interpreter's answers as an output of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from arterial.linearroad.data.dataset import Data, open_data
from arterial.linearroad.formats.answers import ANSWER_SCHEMA, TABLE_OF_TYPE, Answers
from arterial.linearroad.formats.dialects import PAPER, Dialect, write_output
from arterial.linearroad.reference import Expected, answer
from arterial.linearroad.semantics.profiles import SPEC, Profile
from tests.linearroad.cities import City

EMIT_PLACE = {0: 2, 1: 1, 2: 1, 3: 1, 4: 1}


def answers_of(expected: Expected, delay: float = 0.5) -> Answers:
    """The answers, each emitted `delay` seconds after its time."""
    tables = {}
    for answer_type, schema in ANSWER_SCHEMA.items():
        place = EMIT_PLACE[answer_type]
        rows = [
            (*row[:place], row[schema.names.index("time")] + delay, *row[place:])
            for row in getattr(expected, TABLE_OF_TYPE[answer_type])
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        tables[answer_type] = pa.table(
            [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
        )
    return Answers.of(tables)


@dataclass(frozen=True)
class Run:
    """The files of a run."""

    data: Data
    output: Path
    tolls: Path
    segments: Path

    @property
    def file(self) -> Path:
        """The flat output file."""
        return self.output / "output.csv"

    def lines(self) -> list[str]:
        """The lines of the flat output file."""
        return self.file.read_text().splitlines()

    def rewrite(self, lines: list[str]) -> None:
        """Replace the output."""
        self.file.write_text("".join(f"{line}\n" for line in lines))


def write_city(city: City, folder: Path) -> tuple[Path, Path, Path]:
    """The city's events, tolls and segments as CSV files."""
    folder.mkdir(parents=True, exist_ok=True)
    events, tolls, segments = folder / "events.csv", folder / "tolls.csv", folder / "segments.csv"
    for path, rows in (
        (events, sorted(city.events, key=lambda e: e.time)),
        (tolls, city.tolls),
        (segments, city.segments),
    ):
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return events, tolls, segments


def right_run(city: City, folder: Path, profile: Profile = SPEC, dialect: Dialect = PAPER, delay: float = 0.5) -> Run:
    """A run that answers a city as the interpreter does."""
    events, tolls, segments = write_city(city, folder / "input")
    expected = answer(city.events, city.tolls, city.segments, profile, balance_at=dialect.balance_at)
    write_output(answers_of(expected, delay), folder / "output", dialect)
    return Run(open_data(events), folder / "output", tolls, segments)
