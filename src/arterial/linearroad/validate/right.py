"""Which answers are right: functions of possible pairs of an expected answer and one that came (columns `…_got`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.linearroad.semantics.city import EAST
from arterial.linearroad.semantics.profiles import Profile

Right = Callable[[pl.DataFrame], pl.Series]

# Emit is written with milliseconds; a hair more than the limit is not late.
HAIR = 1e-6
_TOLERATED_SHARE = 0.05


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
    # Whether balances are those at the last toll notice, as dialect `original` has them.
    at_notice: bool = False
    # Whether the window leaves out input before or after: answers of those seconds are then not judged. What came of a
    # second that the input does not have is judged, and extra.
    opens: bool = False
    closes: bool = False

    @property
    def inside(self) -> pl.Expr:
        """Whether an answer that came is judged, by its `time`."""
        after_first = pl.col("time") >= self.first if self.opens else pl.lit(True)
        return after_first & (pl.col("time") < self.until) if self.closes else after_first


def right_notices(pairs: pl.DataFrame) -> pl.Series:
    """Rules 1–8."""
    return (pairs["lav"] == pairs["lav_got"]) & (pairs["toll"] == pairs["toll_got"])


def right_alerts(terms: Terms) -> Right:
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

    return right


def right_balances(steps: pl.DataFrame, terms: Terms) -> Right:
    """Rule 17: every (τ, Bal) with Bal the balance at τ, as `steps` has it by the request's `number`."""
    fits = (pl.col("result_time_got") >= pl.col("since")) & (pl.col("result_time_got") <= pl.col("until"))
    if terms.profile.balance_accepted == "until_answer" and not terms.at_notice:
        # A step that ended before the request was true too early; ResultTime cannot lie after the answer.
        fits &= (pl.col("until") >= pl.col("time")) & _had_come("since", terms) & _had_come("result_time_got", terms)
    fits &= pl.col("balance") == pl.col("balance_got")
    return lambda pairs: _fits_a_step(pairs, steps, fits)


def right_expenditures(steps: pl.DataFrame | None, terms: Terms) -> Right:
    """Rule 18; what is spent today (thesis) was so at some time from the request to the answer, as `steps` has it."""
    if steps is None:
        return lambda pairs: pairs["balance"] == pairs["balance_got"]
    fits = (pl.col("balance") == pl.col("balance_got")) & _had_come("since", terms)
    return lambda pairs: _fits_a_step(pairs, steps, fits)


def right_travels(pairs: pl.DataFrame) -> pl.Series:
    """Rule 19, within max(1, 5 %) of each number; what is unknown must be answered as unknown."""
    return _near(pairs, "travel_time") & _near(pairs, "toll")


def _near(pairs: pl.DataFrame, name: str) -> pl.Series:
    right, told = pl.col(name), pl.col(f"{name}_got")
    room = pl.max_horizontal(pl.lit(1.0), right * _TOLERATED_SHARE)
    close = (told >= 0) & ((told - right).abs() <= room)
    return pairs.select(pl.when(right < 0).then(told == right).otherwise(close).alias(name))[name]


def _had_come(second: str, terms: Terms) -> pl.Expr:
    """Whether a second had come when the answer was emitted."""
    return pl.col(second) <= pl.col("emit_got") + terms.early + HAIR if terms.timed else pl.lit(True)


def _fits_a_step(pairs: pl.DataFrame, steps: pl.DataFrame, fits: pl.Expr) -> pl.Series:
    """Whether any step of a pair's request fits what came."""
    numbered = pairs.drop("balance", strict=False).with_row_index("pair")
    fitting = numbered.join(steps, on="number").filter(fits)["pair"].unique()
    return numbered["pair"].is_in(fitting.implode())
