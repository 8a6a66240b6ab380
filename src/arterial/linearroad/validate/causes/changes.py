"""What an alternative would answer differently: rows that it has and the judging profile has not, and the reverse.

A row is `gone` if the alternative has no answer with its key. Of a notice, `told` says that the answer differs, `owed`
that its charge does.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from arterial.linearroad.validate.causes.alternatives import Alternative
from arterial.linearroad.validate.expected.traffic import Road, Traffic

KEY = ["vid", "time"]
_TOLD = ["lav", "toll"]
_OWED = ["toll", "charged"]
NOTICE_COLUMNS = [*KEY, *_TOLD, "charged", "xway"]
ALERT_COLUMNS = [*KEY, "seg", "nearest", "reach", "xway", "dir"]


def notice_changes(base: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """The notices that differ: NOTICE_COLUMNS, told, owed, gone."""
    base, other = base.select(NOTICE_COLUMNS), other.select(NOTICE_COLUMNS)
    if base.select(KEY).equals(other.select(KEY)):
        # The same reports are answered, in the same order.
        told, owed = (
            pl.any_horizontal(pl.Series(other[name] != base[name]) for name in names) for names in (_TOLD, _OWED)
        )
        changed = other.with_columns(told.alias("told"), owed.alias("owed"), gone=pl.lit(False))
        return changed.filter(pl.col("told") | pl.col("owed"))
    known = base.rename({name: f"{name}_base" for name in (*_TOLD, "charged")}).with_columns(known=pl.lit(True))
    both = other.join(known, on=[*KEY, "xway"], how="left", maintain_order="left")
    told, owed = (
        pl.col("known").is_null() | pl.any_horizontal(pl.col(name) != pl.col(f"{name}_base") for name in names)
        for names in (_TOLD, _OWED)
    )
    changed = both.with_columns(told.alias("told"), owed.alias("owed"), gone=pl.lit(False)).select(
        *NOTICE_COLUMNS, "told", "owed", "gone"
    )
    gone = base.join(other, on=[*KEY, "xway"], how="anti").with_columns(
        told=pl.lit(True), owed=pl.lit(True), gone=pl.lit(True)
    )
    return pl.concat([changed.filter(pl.col("told") | pl.col("owed")), gone])


def alert_changes(base: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """The alerts that differ: ALERT_COLUMNS, gone."""
    base, other = base.select(ALERT_COLUMNS), other.select(ALERT_COLUMNS)
    more = other.join(base, on=ALERT_COLUMNS, how="anti").with_columns(gone=pl.lit(False))
    less = base.join(other, on=KEY, how="anti").with_columns(gone=pl.lit(True))
    return pl.concat([more, less])


def patched(notices: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """The notices as an alternative has them."""
    kept = notices.select(NOTICE_COLUMNS).join(changes, on=[*KEY, "xway"], how="anti")
    return pl.concat([kept, changes.filter(~pl.col("gone")).select(NOTICE_COLUMNS)])


def changes_of(
    road: Road, base: Traffic, alternatives: tuple[Alternative, ...], first: int, asking: pl.Series
) -> Iterator[tuple[Alternative, pl.DataFrame, pl.DataFrame, pl.DataFrame]]:
    """For every alternative the notices and alerts that differ, and all its credits.

    Of two rules only what neither alone would answer is given. Answers before the second `first` are not judged;
    charges matter for the vehicles `asking`, and where there is a discount for all.
    """
    alone: dict[tuple[str, str], tuple[pl.DataFrame, pl.DataFrame]] = {}
    for tried in alternatives:
        if not tried.about_reports:
            continue
        found = road.traffic(tried.profile)
        notices, alerts = notice_changes(base.notices, found.notices), alert_changes(base.alerts, found.alerts)
        if len(tried.rules) == 1:
            alone[tried.rules[0], tried.of] = notices, alerts
        elif not tried.whole:
            for rule in tried.rules:
                single = alone.get((rule, tried.of))
                if single is not None:
                    notices, alerts = _only_both(notices, alerts, *single)
        judged = pl.col("told") & (pl.col("time") >= first)
        all_matter = pl.lit(tried.profile.discount_from is not None)
        matters = pl.col("owed") & (all_matter | pl.col("vid").is_in(asking.implode()))
        notices = notices.with_columns(judged.alias("told"), matters.alias("owed"))
        yield (
            tried,
            notices.filter(pl.col("told") | pl.col("owed")),
            alerts.filter(pl.col("time") >= first),
            found.credits,
        )


def _only_both(
    notices: pl.DataFrame, alerts: pl.DataFrame, one_notices: pl.DataFrame, one_alerts: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What two rules change and one of them alone does not; charges stay, for they add up."""
    same = [*KEY, *_TOLD, "gone"]
    known = one_notices.filter(pl.col("told")).select(same).with_columns(known=pl.lit(True))
    news = notices.join(known, on=same, how="left", maintain_order="left").with_columns(
        told=pl.col("told") & pl.col("known").is_null()
    )
    return news.drop("known"), alerts.join(one_alerts, on=[*ALERT_COLUMNS, "gone"], how="anti")
