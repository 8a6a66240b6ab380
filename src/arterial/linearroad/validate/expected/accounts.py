"""What a vehicle's account must say (§3.2.3, table 5; rules 16, 17): charges, balances, and every answer that is right.

The right answers to a request are steps: from second `since` through `until` the balance was `balance`.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.linearroad.formats.answers import BALANCE, EXPENDITURE
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.traffic import NEVER

ACCURATE_SECONDS = 60


def discounted(notices: pl.DataFrame, credits: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """The notices with the thesis' discount: half of a toll that is quoted once enough was charged.

    A quote depends on the charges before it and becomes a charge itself, so a vehicle's tolls are taken one by one.
    """
    if profile.discount_from is None:
        return notices
    priced = notices.with_row_index("row").filter(pl.col("toll") > 0).sort("vid", "time")
    credit_times: dict[int, list[int]] = {}
    for vid, time in credits.select("vid", "time").iter_rows():
        credit_times.setdefault(vid, []).append(time)
    halved = []
    before: int | None = None
    charges: list[tuple[int, int]] = []
    for row, vid, time, toll, charged in priced.select("row", "vid", "time", "toll", "charged").iter_rows():
        if vid != before:
            before = vid
            charges = [(at, -profile.exit_credit) for at in credit_times.get(vid, [])]
        if sum(amount for at, amount in charges if at <= time) >= profile.discount_from:
            halved.append(row)
            toll //= 2
        if charged != NEVER:
            charges.append((charged, toll))
    return (
        notices.with_row_index("row")
        .with_columns(
            pl.when(pl.col("row").is_in(pl.Series(halved, dtype=pl.UInt32).implode()))
            .then(pl.col("toll") // 2)
            .otherwise(pl.col("toll"))
            .alias("toll")
        )
        .drop("row")
    )


def charges_of(notices: pl.DataFrame, credits: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """Rule 16: vid, time, xway, amount; a crossing with toll 0 is no charge."""
    return pl.concat(
        [
            notices.filter((pl.col("charged") != NEVER) & (pl.col("toll") > 0)).select(
                "vid", pl.col("charged").alias("time"), "xway", pl.col("toll").alias("amount")
            ),
            credits.select("vid", "time", "xway", pl.lit(-profile.exit_credit, pl.Int64).alias("amount")),
        ]
    )


def seconds_after(profile: Profile) -> int:
    """Up to how many seconds after a request a right balance may have come true: as long as an answer may take."""
    limit = profile.response_limit
    return max(limit[BALANCE], limit[EXPENDITURE]) if profile.balance_accepted == "until_answer" else 0


def balance_steps(
    requests: pl.DataFrame, charges: pl.DataFrame, by: list[str], profile: Profile, *, result_time: bool = True
) -> pl.DataFrame:
    """Rule 17: for every request (number, time and `by`) the steps of the balance in the seconds that are accepted.

    `number` identifies requests; `charge` says that a step begins with a charge. Without `result_time`, nothing is said
    of the minute before a request whose answer may be true until it comes.
    """
    after = seconds_after(profile)
    before = ACCURATE_SECONDS
    if profile.balance_accepted == "at_request" or (after and not result_time):
        before = 0
    running = (
        charges.group_by(*by, "time")
        .agg(pl.col("amount").sum())
        .sort(*by, "time")
        .with_columns(pl.col("amount").cum_sum().over(by).alias("balance"))
        .select(*by, "time", "balance")
    )
    asked = requests.select("number", *by, pl.col("time").alias("asked")).with_columns(
        pl.max_horizontal(pl.col("asked") - before, pl.lit(0)).alias("since"),
        (pl.col("asked") + after).alias("end"),
    )
    # The balance at the beginning of the interval, then one step a charge.
    start = (
        asked.sort("since")
        .join_asof(running.sort("time"), left_on="since", right_on="time", by=by, check_sortedness=False)
        .select(
            "number",
            "end",
            "since",
            pl.col("balance").fill_null(0),
            (pl.col("time") == pl.col("since")).alias("charge"),
        )
    )
    inside = (
        asked.join(running, on=by)
        .filter((pl.col("time") > pl.col("since")) & (pl.col("time") <= pl.col("end")))
        .select("number", "end", pl.col("time").alias("since"), "balance", pl.lit(True).alias("charge"))
    )
    return (
        pl.concat([start.with_columns(pl.col("charge").fill_null(False)), inside])
        .sort("number", "since")
        .with_columns((pl.col("since").shift(-1).over("number") - 1).fill_null(pl.col("end")).alias("until"))
        .select("number", "since", "until", "balance", "charge")
    )


def last_notice_steps(requests: pl.DataFrame, charges: pl.DataFrame, notices: pl.DataFrame) -> pl.DataFrame:
    """Dialect `original`: the one right answer is the balance at the vehicle's last toll notice."""
    running = (
        charges.group_by("vid", "time")
        .agg(pl.col("amount").sum())
        .sort("vid", "time")
        .with_columns(pl.col("amount").cum_sum().over("vid").alias("balance"))
        .select("vid", "time", "balance")
        .sort("time")
    )
    told = notices.select("vid", "time", pl.col("time").alias("notice")).unique().sort("time")
    asked = requests.select("number", "vid", "time").sort("time")
    known = (
        asked.join_asof(told, on="time", by="vid", check_sortedness=False)
        .with_columns(pl.col("notice").fill_null(pl.col("time")))
        .sort("notice")
        .join_asof(running.rename({"time": "at"}), left_on="notice", right_on="at", by="vid", check_sortedness=False)
    )
    return known.select(
        "number",
        pl.col("notice").alias("since"),
        pl.col("notice").alias("until"),
        pl.col("balance").fill_null(0),
        pl.lit(True).alias("charge"),
    )


def preferred(requests: pl.DataFrame, steps: pl.DataFrame, profile: Profile, *, at_notice: bool) -> pl.DataFrame:
    """The requests with `result_time` and `balance`: the answer that our application gives, of several right ones."""
    last = at_request(requests, steps)
    tells_charge = at_notice or profile.balance_result_time == "last_charge"
    return requests.join(last.select("number", "since", "balance", "charge"), on="number").select(
        *requests.columns,
        pl.when(pl.col("charge") & tells_charge).then(pl.col("since")).otherwise(pl.col("time")).alias("result_time"),
        "balance",
    )


def at_request(requests: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The step of each request that holds its second."""
    known = steps.join(requests.select("number", "time"), on="number").filter(pl.col("since") <= pl.col("time"))
    return known.sort("number", "since").group_by("number").last().drop("time")


def numbered(requests: pl.DataFrame) -> pl.DataFrame:
    """Requests with a number each."""
    return requests.with_columns(pl.Series("number", np.arange(requests.height), dtype=pl.Int64))
