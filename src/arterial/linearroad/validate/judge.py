"""Judges answers type by type: pairs them with the expected ones, and counts missing, extra, wrong and late (§3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from arterial.linearroad.formats.answers import ACCIDENT_ALERT, BALANCE, EXPENDITURE, TOLL_NOTICE, TRAVEL_TIME
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.explain import explain_extra, explain_late, explain_missing, explain_wrong
from arterial.linearroad.validate.pairing import pair
from arterial.linearroad.validate.right import (
    HAIR,
    Right,
    Terms,
    right_alerts,
    right_balances,
    right_expenditures,
    right_notices,
    right_travels,
)
from arterial.linearroad.validate.verdict import KEPT_EXAMPLES, Example, Tally, first_examples

Flags = NDArray[np.bool_]
_OWN = ("number", "row", "charged", "reach")
_JOURNEY = ("sinit", "send", "dow", "tod")
_UNUSED: dict[int, tuple[str, ...]] = {
    BALANCE: ("xway", "day", *_JOURNEY, "right"),
    EXPENDITURE: _JOURNEY,
    TRAVEL_TIME: ("day",),
}


@dataclass(frozen=True)
class Judged:
    """A judgement, and the differences in it."""

    tally: Tally
    key: list[str]
    # The answers that were judged, with their place as `row`; which of them are wrong or extra; which are extra; which
    # came too early and are right otherwise.
    got: pl.DataFrame
    differs: Flags
    extra: Flags
    early: Flags
    missing: pl.DataFrame


def judge_notices(expected: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Judged:
    """Rules 1–8."""
    return _judge(TOLL_NOTICE, expected, got, ["vid", "time"], right_notices, terms)


def judge_alerts(expected: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Judged:
    """Rules 9–15."""
    return _judge(ACCIDENT_ALERT, expected, got, ["vid", "time"], right_alerts(terms), terms)


def judge_balances(expected: pl.DataFrame, steps: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Judged:
    """Rule 17."""
    told = steps
    if terms.profile.balance_accepted == "until_answer" and not terms.at_notice:
        told = steps.join(expected.select("number", "time"), on="number").filter(pl.col("until") >= pl.col("time"))
    told = (
        told.sort("number", "since")
        .group_by("number")
        .agg(pl.format("{} since {}", "balance", "since").str.join(", ").alias("right"))
    )
    right = right_balances(steps, terms)
    return _judge(BALANCE, expected.join(told, on="number"), got, ["qid", "time"], right, terms)


def judge_expenditures(expected: pl.DataFrame, steps: pl.DataFrame | None, got: pl.DataFrame, terms: Terms) -> Judged:
    """Rule 18."""
    return _judge(EXPENDITURE, expected, got, ["qid", "time"], right_expenditures(steps, terms), terms)


def judge_travels(expected: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Judged:
    """Rule 19."""
    return _judge(TRAVEL_TIME, expected, got, ["qid", "time"], right_travels, terms)


def _judge(
    answer_type: int,
    expected: pl.DataFrame,
    got: pl.DataFrame,
    key: list[str],
    right: Right,
    terms: Terms,
) -> Judged:
    tally = Tally(answer_type)
    inside = (pl.col("time") >= terms.first) & (pl.col("time") < terms.until)
    expected = expected.filter(inside)
    if "number" not in expected.columns:
        expected = expected.with_columns(pl.Series("number", np.arange(expected.height), dtype=pl.Int64))
    judged = got.filter(terms.inside)
    tally.outside = got.height - judged.height
    judged = judged.with_columns(pl.Series("row", np.arange(judged.height), dtype=pl.Int64))
    pairs = pair(expected, judged, key, right)

    response = (judged["emit"] - judged["time"]).to_numpy()
    limit = terms.profile.response_limit[answer_type]
    early = response < -terms.early - HAIR if terms.timed else np.zeros(len(response), bool)
    late = response > limit + HAIR if terms.timed else np.zeros(len(response), bool)
    if terms.timed:
        # Minutes that the input does not have would only stretch the plot.
        known = judged.select(inside).to_series().to_numpy()
        tally.latency.add(judged["time"].to_numpy()[known], response[known])

    rows, fits = pairs["row"].to_numpy(), pairs["ok"].to_numpy()
    ok = fits & ~early[rows]
    unpaired = np.ones(judged.height, bool)
    unpaired[rows] = False
    differs, only_early = unpaired.copy(), np.zeros(judged.height, bool)
    differs[rows[~ok]] = True
    only_early[rows[fits & ~ok]] = True
    missing = expected.join(pairs.select("number"), on="number", how="anti")
    tally.counts.update(
        expected=expected.height,
        got=judged.height,
        right=int(ok.sum()),
        missing=missing.height,
        extra=int(unpaired.sum()),
        wrong=int((~ok).sum()),
        late=int(late.sum()),
    )
    tally.examples = first_examples(
        [
            *_missing_examples(answer_type, missing, terms.profile),
            *_extra_examples(answer_type, judged.filter(pl.Series(unpaired)), expected, key, terms.profile),
            *_wrong_examples(answer_type, pairs.filter(pl.Series(~ok)), expected, judged, early, terms.profile),
            *_late_examples(judged.filter(pl.Series(late)), limit),
        ]
    )
    return Judged(tally, key, judged, differs, unpaired, only_early, missing)


def _missing_examples(answer_type: int, missing: pl.DataFrame, profile: Profile) -> list[Example]:
    return [
        Example("missing", row["time"], _plain(row, answer_type), None, explain_missing(answer_type, row, profile))
        for row in _earliest(missing)
    ]


def _extra_examples(
    answer_type: int, extra: pl.DataFrame, expected: pl.DataFrame, key: list[str], profile: Profile
) -> list[Example]:
    examples = []
    for row in _earliest(extra):
        same = expected.filter(pl.all_horizontal(pl.col(name) == row[name] for name in key))
        rule = explain_extra(answer_type, row, profile, repeated=same.height > 0)
        examples.append(Example("extra", row["time"], None, _plain(row), rule))
    return examples


def _wrong_examples(
    answer_type: int,
    wrong: pl.DataFrame,
    expected: pl.DataFrame,
    got: pl.DataFrame,
    early: np.ndarray,
    profile: Profile,
) -> list[Example]:
    examples = []
    for row in _earliest(wrong.join(got.select("row", "time"), on="row")):
        right = expected.filter(pl.col("number") == row["number"]).row(0, named=True)
        came = got.filter(pl.col("row") == row["row"]).row(0, named=True)
        rule = explain_wrong(answer_type, right, came, profile, early=bool(early[row["row"]]))
        examples.append(Example("wrong", row["time"], _plain(right, answer_type), _plain(came), rule))
    return examples


def _late_examples(late: pl.DataFrame, limit: int) -> list[Example]:
    return [
        Example("late", row["time"], None, _plain(row), explain_late(row["emit"] - row["time"], limit))
        for row in _earliest(late)
    ]


def _earliest(rows: pl.DataFrame) -> list[dict[str, Any]]:
    # Ties by what every row has of these: the same examples, however the rows were divided.
    by = [name for name in ("time", "vid", "qid") if name in rows.columns]
    return rows.bottom_k(KEPT_EXAMPLES, by=by).sort(by).to_dicts()


def _plain(row: dict[str, Any], answer_type: int | None = None) -> dict[str, Any]:
    """A row without what only the validator needs, and of a request without the fields that its type does not have."""
    unused = _UNUSED.get(answer_type, ()) if answer_type is not None else ()
    return {name: value for name, value in row.items() if name not in (*_OWN, *unused)}
