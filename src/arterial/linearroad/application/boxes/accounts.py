"""Accounts and account balances (VLDB 2004, §3.2.3, table 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.errors import NetworkError
from arterial.linearroad.application.boxes.ahead import ready_together
from arterial.linearroad.application.boxes.columns import (
    BALANCE_SCHEMA,
    CHARGE_SCHEMA,
    NOTICE_SCHEMA,
    VEHICLE_KEY,
    arrays,
    frame,
    require,
)
from arterial.linearroad.application.feed import REQUEST_SCHEMA
from arterial.linearroad.application.kernels.accounts import BalanceAt, Requests, settle
from arterial.linearroad.application.kernels.tolls import Charges, Notices
from arterial.network.box import OUT, Box, Stream
from arterial.network.state import State
from arterial.network.train import Train

CHARGES, REQUESTS, NOTICES = "charges", "requests", "notices"


@dataclass(frozen=True)
class Accounts(Box):
    """Books what is charged to a vehicle, on any expressway, and answers its requests for the balance.

    A request is answered after all charges of its second. `balance_at` says which moment a balance is of; at the
    last toll notice, as the validator of 2004 wants it, the notices are an input too.
    """

    balance_at: BalanceAt = "last_charge"

    kind: ClassVar[str] = "linear_road.accounts"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Charges and requests by vehicle."""
        return (CHARGES, REQUESTS, NOTICES) if self.balance_at == "last_notice" else (CHARGES, REQUESTS)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """All grouped by vehicle."""
        if self.balance_at not in ("last_charge", "request", "last_notice"):
            raise NetworkError(f"expected a balance at last_charge, request or last_notice, got {self.balance_at!r}")
        require(inputs[CHARGES], CHARGE_SCHEMA, VEHICLE_KEY)
        require(inputs[REQUESTS], REQUEST_SCHEMA, VEHICLE_KEY)
        if NOTICES in inputs:
            require(inputs[NOTICES], NOTICE_SCHEMA, VEHICLE_KEY)
        return {OUT: Stream(BALANCE_SCHEMA, "time", keyed_by=VEHICLE_KEY)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Book and answer; what is ahead of the slowest input waits."""
        ready, through = ready_together(trains, state)
        charges, requests = arrays(ready[CHARGES]), arrays(ready[REQUESTS])
        notices = arrays(ready[NOTICES]) if NOTICES in ready else None
        answered = settle(
            state,
            Charges(charges["vid"], charges["time"], charges["toll"], charges["xway"], charges["dir"]),
            Requests(requests["time"], requests["vid"], requests["qid"]),
            self.balance_at,
            None if notices is None else Notices(**notices),
        )
        columns = {name: getattr(answered, name) for name in BALANCE_SCHEMA.names if name != "vid"}
        return {OUT: Train(frame(BALANCE_SCHEMA, {**columns, "vid": requests["vid"]}), through)}
