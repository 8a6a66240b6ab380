"""Tolls, alerts, balances and today's expenditures by the thesis' rules (thesis, §3.2): the whole city in one place.

A toll depends on what the vehicle was charged that day on any expressway, so nothing here can be done by road alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from arterial.linearroad.application.boxes.ahead import ready_together
from arterial.linearroad.application.boxes.columns import (
    ALERT_SCHEMA,
    BALANCE_SCHEMA,
    EXPENDITURE_SCHEMA,
    NOTICE_SCHEMA,
    arrays,
    frame,
    reports_of,
    require,
)
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.kernels.accounts import BalanceAt, Requests
from arterial.linearroad.application.kernels.thesis import ExpenditureRequests, answer
from arterial.linearroad.application.rules import Rules, profile_by
from arterial.linearroad.formats.events import BALANCE_REQUEST, EXPENDITURE_REQUEST
from arterial.network.box import Box, Stream
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

REPORTS, REQUESTS = "reports", "requests"
NOTICES, ALERTS, BALANCES, EXPENDITURES = "notices", "alerts", "balances", "expenditures"
SCHEMAS: Mapping[str, Schema] = {
    NOTICES: NOTICE_SCHEMA,
    ALERTS: ALERT_SCHEMA,
    BALANCES: Schema.of({name: BALANCE_SCHEMA[name] for name in ("time", "result_time", "qid", "balance")}),
    EXPENDITURES: EXPENDITURE_SCHEMA,
}


@dataclass(frozen=True)
class ThesisCity(Box):
    """Takes the reports of all expressways second by second, then the requests of that second."""

    profile: str = "thesis2003"
    rules: Rules = ()
    balance_at: BalanceAt = "last_charge"

    kind: ClassVar[str] = "linear_road.thesis_city"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Reports, and requests for balances and expenditures."""
        return (REPORTS, REQUESTS)

    @property
    def outputs(self) -> tuple[str, ...]:
        """All answers but travel times."""
        return tuple(SCHEMAS)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Neither input is grouped: all tuples come to one place."""
        require(inputs[REPORTS], REPORT_SCHEMA, ())
        require(inputs[REQUESTS], REQUEST_SCHEMA, ())
        return {port: Stream(schema, "time", keyed_by=()) for port, schema in SCHEMAS.items()}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Answer the seconds that both inputs have come to."""
        ready, through = ready_together(trains, state)
        if all(tuples.is_empty() for tuples in ready.values()):
            return {port: Train(schema.empty(), through) for port, schema in SCHEMAS.items()}
        balances = arrays(ready[REQUESTS].filter(pl.col("type") == BALANCE_REQUEST))
        expenses = arrays(ready[REQUESTS].filter(pl.col("type") == EXPENDITURE_REQUEST))
        answered = answer(
            state,
            reports_of(arrays(ready[REPORTS])),
            Requests(*(balances[name] for name in ("time", "vid", "qid"))),
            ExpenditureRequests(*(expenses[name] for name in ("time", "vid", "xway", "qid"))),
            profile_by(self.profile, self.rules),
            self.balance_at,
        )
        return {port: Train(_tuples(schema, getattr(answered, port)), through) for port, schema in SCHEMAS.items()}


def _tuples(schema: Schema, answers: Any) -> pl.DataFrame:
    return frame(schema, {name: getattr(answers, name) for name in schema.names})
