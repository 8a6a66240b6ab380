"""The layout that the validator of 2004 reads: a file for each type, whole seconds."""

from __future__ import annotations

from arterial.linearroad.formats.answers import ACCIDENT_ALERT, BALANCE, EXPENDITURE, TOLL_NOTICE
from arterial.linearroad.formats.dialects.dialect import Dialect

ORIGINAL = Dialect(
    "original",
    {
        TOLL_NOTICE: ("vid", "time", "emit", "lav", "toll"),
        ACCIDENT_ALERT: ("time", "emit", "vid", "seg"),
        BALANCE: ("time", "emit", "qid", "result_time", "balance"),
        EXPENDITURE: ("time", "emit", "qid", "balance"),
    },
    emit="whole_seconds",
    file_per_type=True,
    balance_at="last_notice",
)
