"""The five answers of Linear Road as columns (§3.2, tables 1, 4–6): one table a type, whatever the dialect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

TOLL_NOTICE = 0
ACCIDENT_ALERT = 1
BALANCE = 2
EXPENDITURE = 3
TRAVEL_TIME = 4

ANSWER_TYPES = (TOLL_NOTICE, ACCIDENT_ALERT, BALANCE, EXPENDITURE, TRAVEL_TIME)

# The name of each type's table, and what to call one of its rows.
TABLE_OF_TYPE = {
    TOLL_NOTICE: "notices",
    ACCIDENT_ALERT: "alerts",
    BALANCE: "balances",
    EXPENDITURE: "expenditures",
    TRAVEL_TIME: "travels",
}
TITLE_OF_TYPE = {
    TOLL_NOTICE: "toll notice",
    ACCIDENT_ALERT: "accident alert",
    BALANCE: "account balance",
    EXPENDITURE: "daily expenditure",
    TRAVEL_TIME: "travel time",
}


def _schema(*names: str) -> pa.Schema:
    return pa.schema([pa.field(name, pa.float64() if name == "emit" else pa.int64(), nullable=False) for name in names])


# `time` is that of the input which asked for the answer; `emit` is in seconds since the start of the run.
ANSWER_SCHEMA = {
    TOLL_NOTICE: _schema("vid", "time", "emit", "lav", "toll"),
    ACCIDENT_ALERT: _schema("time", "emit", "vid", "xway", "seg", "dir"),
    BALANCE: _schema("time", "emit", "result_time", "qid", "balance"),
    EXPENDITURE: _schema("time", "emit", "qid", "balance"),
    TRAVEL_TIME: _schema("time", "emit", "qid", "travel_time", "toll"),
}


@dataclass(frozen=True)
class Answers:
    """The answers of a run, or of a piece of one."""

    notices: pa.Table
    alerts: pa.Table
    balances: pa.Table
    expenditures: pa.Table
    travels: pa.Table

    @classmethod
    def of(cls, tables: dict[int, pa.Table]) -> Answers:
        """The answers made of a table a type; a type without one has no answers."""
        return cls(**{TABLE_OF_TYPE[t]: tables.get(t, ANSWER_SCHEMA[t].empty_table()) for t in ANSWER_TYPES})

    @classmethod
    def concat(cls, pieces: Iterable[Answers]) -> Answers:
        """All answers of the pieces, in their order."""
        kept = list(pieces)
        return cls.of({t: pa.concat_tables([piece.of_type(t) for piece in kept]) for t in ANSWER_TYPES} if kept else {})

    def of_type(self, answer_type: int) -> pa.Table:
        """The table of one type."""
        table: pa.Table = getattr(self, TABLE_OF_TYPE[answer_type])
        return table

    def tables(self) -> Iterator[tuple[int, pa.Table]]:
        """Each type with its table."""
        return ((t, self.of_type(t)) for t in ANSWER_TYPES)

    def __len__(self) -> int:
        return sum(table.num_rows for _, table in self.tables())
