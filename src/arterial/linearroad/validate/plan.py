"""What the tasks of the Spark job know, and what tasks there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from arterial.linearroad.formats.dialects import Dialect
from arterial.linearroad.validate.causes.alternatives import Alternative
from arterial.linearroad.validate.parcels import Parcel, pack, unpack
from arterial.linearroad.validate.replicas import Replicas
from arterial.linearroad.validate.right import Terms


@dataclass(frozen=True)
class Plan:
    """What all tasks know."""

    terms: Terms
    dialect: Dialect
    replicas: Replicas
    # What is tried on differences; none while it is not known that there are any.
    alternatives: tuple[Alternative, ...] = ()
    differing: tuple[int, ...] = ()

    @property
    def today(self) -> bool:
        """Whether expenditures are today's (thesis)."""
        return self.terms.profile.expenditure == "today"

    def send(self, kind: str, table: pl.DataFrame, by: str) -> Iterator[Parcel]:
        """A table as it is, to the buckets of its column `by`."""
        yield from pack(kind, table, self.replicas.bucket_of(table[by].to_numpy(), by), self.replicas.buckets)

    def send_steps(self, kind: str, requests: pl.DataFrame, steps: pl.DataFrame) -> Iterator[Parcel]:
        """Requests with their right answers, by query id, and the steps after them."""
        yield from self.send(kind, requests, "qid")
        addressed = steps.join(requests.select("number", "qid"), on="number")
        yield from self.send(f"{kind}_steps", addressed, "qid")

    def unpack_replicas(self, parcels: Iterable[Parcel], kind: str, schema: dict[str, Any]) -> pl.DataFrame:
        """All tables of one kind that were worked out of the data, and the same of every replica."""
        return self.replicas.of(unpack(parcels, kind, schema))


@dataclass(frozen=True)
class RequestsOf:
    """Task: send the requests that are known from the start."""


@dataclass(frozen=True)
class TrafficOf:
    """Task: what the reports of one expressway and direction cause."""

    file: Path
    xway: int
    direction: int


@dataclass(frozen=True)
class LinesOf:
    """Task: read the answers in a range of an output file."""

    file: Path
    place: int
    start: int
    stop: int


@dataclass(frozen=True)
class TollsOf:
    """Task: find the requested rows of some files of TollHistory; `place` is that of the first among all."""

    files: tuple[Path, ...]
    place: int


@dataclass(frozen=True)
class JourneysOf:
    """Task: the journeys on some expressways."""

    files: tuple[Path, ...]
    xways: tuple[int, ...]


Task = RequestsOf | TrafficOf | LinesOf | TollsOf | JourneysOf


@dataclass(frozen=True)
class Asked:
    """The requests in the window, by type."""

    balances: pl.DataFrame
    expenditures: pl.DataFrame
    travels: pl.DataFrame
