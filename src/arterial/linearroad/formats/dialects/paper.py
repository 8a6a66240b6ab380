"""The layout of the VLDB 2004 paper (§3.2)."""

from __future__ import annotations

from arterial.linearroad.formats.answers import ACCIDENT_ALERT, BALANCE, EXPENDITURE, TOLL_NOTICE, TRAVEL_TIME
from arterial.linearroad.formats.dialects.dialect import Dialect

PAPER = Dialect(
    "paper",
    {
        TOLL_NOTICE: ("vid", "time", "emit", "lav", "toll"),
        ACCIDENT_ALERT: ("time", "emit", "vid", "xway", "seg", "dir"),
        BALANCE: ("time", "emit", "result_time", "qid", "balance"),
        EXPENDITURE: ("time", "emit", "qid", "balance"),
        TRAVEL_TIME: ("time", "emit", "qid", "travel_time", "toll"),
    },
)
