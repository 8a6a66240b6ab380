"""The layout that Walmart's validator of 2016 reads: emission as the milliseconds that the answer took."""

from __future__ import annotations

from arterial.linearroad.formats.answers import ACCIDENT_ALERT, BALANCE, EXPENDITURE, TOLL_NOTICE
from arterial.linearroad.formats.dialects.dialect import Dialect

WALMART = Dialect(
    "walmart",
    {
        TOLL_NOTICE: ("vid", "time", "emit", "lav", "toll"),
        ACCIDENT_ALERT: ("time", "emit", "xway", "seg", "dir", "vid"),
        BALANCE: ("time", "emit", "result_time", "qid", "balance"),
        EXPENDITURE: ("time", "emit", "qid", "balance"),
    },
    emit="elapsed_milliseconds",
)
