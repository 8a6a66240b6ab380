"""Which differences an alternative explains: it would have answered what came, or would not have answered at all.

Beside it stands how many answers the alternative would change at all, and how many of those came as it has them: a rule
that the output does not follow hits some values by chance, but few of those that it changes. Silence says nothing of an
output that is silent where the alternative is not, so what the alternative leaves out is counted by itself, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from arterial.linearroad.validate.judge import Judged
from arterial.linearroad.validate.right import Right, Terms

# Marks the differences of right answers that came before their time.
EARLY = 62


@dataclass
class Evidence:
    """For one type: the differences by the set of alternatives that explain them, as a number with a bit for each."""

    answer_type: int
    sets: dict[int, int] = field(default_factory=dict)
    # By the alternative's number: the answers that it would change, and those of them that came so.
    changes: dict[int, int] = field(default_factory=dict)
    came: dict[int, int] = field(default_factory=dict)
    # Of these the answers that it would not give, and those of them that did not come.
    gone: dict[int, int] = field(default_factory=dict)
    absent: dict[int, int] = field(default_factory=dict)
    # Of all answers that were expected, how many there are and how many are missing.
    expected: int = 0
    missing: int = 0

    def join(self, other: Evidence) -> None:
        """Add the evidence of another part."""
        for mine, theirs in zip(self._counts, other._counts, strict=True):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count
        self.expected += other.expected
        self.missing += other.missing

    @property
    def _counts(self) -> tuple[dict[int, int], ...]:
        return self.sets, self.changes, self.came, self.gone, self.absent

    def to_bytes(self) -> bytes:
        """As JSON."""
        counts = [list(one.items()) for one in self._counts]
        return json.dumps([self.answer_type, counts, self.expected, self.missing]).encode()

    @classmethod
    def from_bytes(cls, payload: bytes) -> Evidence:
        """From its JSON."""
        answer_type, counts, expected, missing = json.loads(payload)
        sets, changes, came, gone, absent = (dict(map(tuple, one)) for one in counts)
        return cls(answer_type, sets, changes, came, gone, absent, expected, missing)


class Search:
    """Collects the evidence about the differences of one judgement."""

    def __init__(self, judged: Judged, terms: Terms) -> None:
        self.judged, self.terms = judged, terms
        counts = judged.tally.counts
        self._evidence = Evidence(judged.tally.answer_type, expected=counts["expected"], missing=counts["missing"])
        self._of_got = np.zeros(judged.got.height, np.int64)
        self._of_got[judged.early] = 1 << EARLY
        self._of_missing = np.zeros(judged.missing.height, np.int64)
        self._got = judged.got.rename({n: f"{n}_got" for n in judged.got.columns if n not in (*judged.key, "row")})
        self._missing = judged.missing.select(*judged.key, place=pl.int_range(judged.missing.height))
        self._rooms = _rooms(judged)

    def try_on(self, number: int, changes: pl.DataFrame, right: Right) -> None:
        """See what the alternative of this number explains: `changes` has the expected columns and `gone`."""
        key = self.judged.key
        changes = changes.filter((pl.col("time") >= self.terms.first) & (pl.col("time") < self.terms.until))
        if changes.is_empty():
            return
        news = changes.filter(~pl.col("gone")).with_columns(change=pl.int_range(pl.len()))
        gone = changes.filter(pl.col("gone"))
        pairs = news.join(self._got, on=key)
        fitting = pairs.filter(right(pairs)) if pairs.height else pairs
        differs = pl.Series(self.judged.differs[fitting["row"].to_numpy()], dtype=pl.Boolean)
        telling = self._within_room(fitting.filter(differs), news)
        self._of_got[telling["row"].to_numpy()] |= 1 << number
        came = telling["change"].n_unique()
        # What is right either way says nothing.
        alike = fitting.filter(~differs).select("change").unique()
        either_way = alike.join(telling, on="change", how="anti").height
        absent = gone.join(self._got, on=key, how="anti")
        explained = self._missing.join(gone.select(key).unique(), on=key)["place"].to_numpy()
        self._of_missing[explained] |= 1 << number
        self._evidence.changes[number] = changes.height - either_way
        self._evidence.came[number] = came + absent.height
        self._evidence.gone[number] = gone.height
        self._evidence.absent[number] = absent.height

    def _within_room(self, fitting: pl.DataFrame, news: pl.DataFrame) -> pl.DataFrame:
        """Of the differences that fit, as many as the alternative has answers of their key besides the right ones.

        What comes more often than it was asked for is extra by any reading.
        """
        key = self.judged.key
        room = pl.max_horizontal("expected", "news") - pl.col("right")
        news_by_key = news.group_by(key).agg(pl.len().cast(pl.Int64).alias("news"))
        counted = (
            fitting.select("row", *key)
            .unique("row")
            .sort("row")
            .join(self._rooms, on=key)
            .join(news_by_key, on=key)
            .filter(pl.int_range(pl.len()).over(key) < room)
        )
        return fitting.join(counted.select("row"), on="row", how="semi")

    @property
    def evidence(self) -> Evidence:
        """All that was found."""
        found = np.concatenate([self._of_got[self.judged.differs], self._of_missing])
        sets, counts = np.unique(found, return_counts=True)
        self._evidence.sets = dict(zip(sets.tolist(), counts.tolist(), strict=True))
        return self._evidence


def _rooms(judged: Judged) -> pl.DataFrame:
    """By key of the answers that came: how many are expected, and how many of those that came are right."""
    came = judged.got.select(
        *judged.key,
        expected=pl.Series(~judged.extra, dtype=pl.Int64),
        right=pl.Series(~judged.differs, dtype=pl.Int64),
    )
    missing = judged.missing.select(*judged.key, expected=pl.lit(1, pl.Int64), right=pl.lit(0, pl.Int64))
    counted = pl.concat([came, missing]).group_by(judged.key).agg(pl.col("expected", "right").sum())
    return counted.join(came.select(judged.key).unique(), on=judged.key, how="semi")
