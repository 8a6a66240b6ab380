"""Judges answers type by type: pairs them with the expected ones, and counts missing, extra, wrong and late (§3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from arterial.linearroad.formats.answers import ACCIDENT_ALERT, BALANCE, EXPENDITURE, TOLL_NOTICE, TRAVEL_TIME
from arterial.linearroad.semantics.city import EAST
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.explain import explain_extra, explain_late, explain_missing, explain_wrong
from arterial.linearroad.validate.pairing import pair
from arterial.linearroad.validate.verdict import KEPT_EXAMPLES, Example, Tally, first_examples

# Emit is written with milliseconds; a hair more than the limit is not late.
_HAIR = 1e-6
_TOLERATED_SHARE = 0.05
_OWN = ("number", "row", "charged", "reach")
_JOURNEY = ("sinit", "send", "dow", "tod")
_UNUSED: dict[int, tuple[str, ...]] = {
    BALANCE: ("xway", "day", *_JOURNEY, "right"),
    EXPENDITURE: _JOURNEY,
    TRAVEL_TIME: ("day",),
}


@dataclass(frozen=True)
class Terms:
    """By what an output is judged."""

    profile: Profile
    # The seconds [first, until) whose answers are judged.
    first: int
    until: int
    timed: bool = True
    # Whether the dialect's alerts have expressway and direction.
    placed_alerts: bool = True
    # By so many seconds Emit may lie before the time of an answer: the clock of the system may have started late.
    early: float = 0.0


def judge_notices(expected: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Tally:
    """Rules 1–8."""
    return _judge(
        TOLL_NOTICE,
        expected,
        got,
        ["vid", "time"],
        lambda pairs: (pairs["lav"] == pairs["lav_got"]) & (pairs["toll"] == pairs["toll_got"]),
        terms,
    )


def judge_alerts(expected: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Tally:
    """Rules 9–15: any accident in reach is right."""

    def right(pairs: pl.DataFrame) -> pl.Series:
        ahead = (
            pl.when(pl.col("dir") == EAST)
            .then(pl.col("seg_got") - pl.col("seg"))
            .otherwise(pl.col("seg") - pl.col("seg_got"))
        )
        away = pairs.select(ahead.alias("away"))["away"].to_numpy()
        ok = (away >= 0) & (away < 8) & (pairs["reach"].to_numpy() >> np.clip(away, 0, 8) & 1 > 0)
        if terms.placed_alerts:
            ok &= ((pairs["xway"] == pairs["xway_got"]) & (pairs["dir"] == pairs["dir_got"])).to_numpy()
        return pl.Series(ok)

    return _judge(ACCIDENT_ALERT, expected, got, ["vid", "time"], right, terms)


def judge_balances(expected: pl.DataFrame, steps: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Tally:
    """Rule 17: every (τ, Bal) is right with Bal the balance at τ, as `steps` has it by the request's `number`."""
    at_request = pl.lit(terms.profile.balance_result_time == "request") & (pl.col("result_time_got") == pl.col("time"))
    in_step = (pl.col("result_time_got") >= pl.col("since")) & (pl.col("result_time_got") <= pl.col("until"))
    told = (
        steps.sort("number", "since")
        .group_by("number")
        .agg(pl.format("{} since {}", "balance", "since").str.join(", ").alias("right"))
    )
    return _judge(
        BALANCE,
        expected.join(told, on="number"),
        got,
        ["qid", "time"],
        lambda pairs: _fits_a_step(pairs, steps, (pl.col("balance") == pl.col("balance_got")) & (in_step | at_request)),
        terms,
    )


def judge_expenditures(expected: pl.DataFrame, steps: pl.DataFrame | None, got: pl.DataFrame, terms: Terms) -> Tally:
    """Rule 18; what is spent today (thesis) may be up to 60 s old, as `steps` has it."""

    def right(pairs: pl.DataFrame) -> pl.Series:
        if steps is None:
            return pairs["balance"] == pairs["balance_got"]
        return _fits_a_step(pairs.drop("balance"), steps, pl.col("balance") == pl.col("balance_got"))

    return _judge(EXPENDITURE, expected, got, ["qid", "time"], right, terms)


def judge_travels(expected: pl.DataFrame, got: pl.DataFrame, terms: Terms) -> Tally:
    """Rule 19, within max(1, 5 %) of each number; what is unknown must be answered as unknown."""

    def near(pairs: pl.DataFrame, name: str) -> pl.Series:
        right, told = pl.col(name), pl.col(f"{name}_got")
        room = pl.max_horizontal(pl.lit(1.0), right * _TOLERATED_SHARE)
        close = (told >= 0) & ((told - right).abs() <= room)
        return pairs.select(pl.when(right < 0).then(told == right).otherwise(close).alias(name))[name]

    return _judge(
        TRAVEL_TIME,
        expected,
        got,
        ["qid", "time"],
        lambda pairs: near(pairs, "travel_time") & near(pairs, "toll"),
        terms,
    )


def _fits_a_step(pairs: pl.DataFrame, steps: pl.DataFrame, fits: pl.Expr) -> pl.Series:
    """Whether any step of a pair's request fits what came."""
    numbered = pairs.drop("balance", strict=False).with_row_index("pair")
    fitting = numbered.join(steps, on="number").filter(fits)["pair"].unique()
    return numbered["pair"].is_in(fitting.implode())


def _judge(
    answer_type: int,
    expected: pl.DataFrame,
    got: pl.DataFrame,
    key: list[str],
    right: Callable[[pl.DataFrame], pl.Series],
    terms: Terms,
) -> Tally:
    tally = Tally(answer_type)
    inside = (pl.col("time") >= terms.first) & (pl.col("time") < terms.until)
    expected = expected.filter(inside)
    if "number" not in expected.columns:
        expected = expected.with_columns(pl.Series("number", np.arange(expected.height), dtype=pl.Int64))
    judged = got.filter(inside)
    tally.outside = got.height - judged.height
    judged = judged.with_columns(pl.Series("row", np.arange(judged.height), dtype=pl.Int64))
    pairs = pair(expected, judged, key, right)

    response = (judged["emit"] - judged["time"]).to_numpy()
    limit = terms.profile.response_limit[answer_type]
    early = response < -terms.early - _HAIR if terms.timed else np.zeros(len(response), bool)
    late = response > limit + _HAIR if terms.timed else np.zeros(len(response), bool)
    if terms.timed:
        tally.latency.add(judged["time"].to_numpy(), response)

    rows, ok = pairs["row"].to_numpy(), pairs["ok"].to_numpy() & ~early[pairs["row"].to_numpy()]
    unpaired = np.ones(judged.height, bool)
    unpaired[rows] = False
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
            *_extra_examples(answer_type, judged.filter(pl.Series(unpaired)), expected, key),
            *_wrong_examples(answer_type, pairs.filter(pl.Series(~ok)), expected, judged, early, terms.profile),
            *_late_examples(judged.filter(pl.Series(late)), limit),
        ]
    )
    return tally


def _missing_examples(answer_type: int, missing: pl.DataFrame, profile: Profile) -> list[Example]:
    return [
        Example("missing", row["time"], _plain(row, answer_type), None, explain_missing(answer_type, row, profile))
        for row in _earliest(missing)
    ]


def _extra_examples(answer_type: int, extra: pl.DataFrame, expected: pl.DataFrame, key: list[str]) -> list[Example]:
    examples = []
    for row in _earliest(extra):
        same = expected.filter(pl.all_horizontal(pl.col(name) == row[name] for name in key))
        rule = explain_extra(answer_type, row, repeated=same.height > 0)
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
    return rows.bottom_k(KEPT_EXAMPLES, by="time").sort("time").to_dicts()


def _plain(row: dict[str, Any], answer_type: int | None = None) -> dict[str, Any]:
    """A row without what only the validator needs, and of a request without the fields that its type does not have."""
    unused = _UNUSED.get(answer_type, ()) if answer_type is not None else ()
    return {name: value for name, value in row.items() if name not in (*_OWN, *unused)}
