"""The kernels of Linear Road run in one process, without Spark: what benchmarks compare with, and how tests run them.

The parts are those that the boxes of the network own, each with a state of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.accidents import find_accidents
from arterial.linearroad.application.kernels.accounts import BalanceAt, Balances, Requests, settle
from arterial.linearroad.application.kernels.base.reports import Reports
from arterial.linearroad.application.kernels.statistics import gather
from arterial.linearroad.application.kernels.thesis import ExpenditureRequests, Expenditures, answer
from arterial.linearroad.application.kernels.tolls import Alerts, Charges, Notices, toll
from arterial.linearroad.application.kernels.trips import follow
from arterial.linearroad.application.kernels.walmart import answer_reports
from arterial.linearroad.semantics.profiles import SPEC, Profile
from arterial.network.state import MemoryState

T = TypeVar("T", Notices, Alerts, Charges)


@dataclass(frozen=True)
class Answered:
    """The answers to the reports and balance requests of one train."""

    notices: Notices
    alerts: Alerts
    charges: Charges
    balances: Balances
    expenditures: Expenditures | None = None  # by profile `thesis2003`, which has them of today


class LinearRoadKernels:
    """One shard of Linear Road in memory."""

    def __init__(self, profile: Profile = SPEC, balance_at: BalanceAt | None = None) -> None:
        self.profile = profile
        self.balance_at: BalanceAt = balance_at or profile.balance_result_time
        self.trips, self.accidents, self.statistics, self.tolls, self.accounts = (MemoryState() for _ in range(5))

    def feed(
        self,
        reports: Mapping[str, Array],
        requests: Mapping[str, Array] | None = None,
        expenses: Mapping[str, Array] | None = None,
    ) -> Answered:
        """The answers to the reports, balance requests (time, vid, qid) and, where they are of today, expenditure
        requests (time, vid, xway, qid) of some whole seconds.
        """
        if self.profile.expenditure == "today":
            return self._thesis(reports, requests or NO_REQUESTS, expenses or NO_REQUESTS)
        parts = [self._part(part) for part in Reports.of(reports).parts()]
        notices = _joined(Notices, [part[0] for part in parts])
        alerts = _joined(Alerts, [part[1] for part in parts])
        charges = _joined(Charges, [part[2] for part in parts])
        asked = requests or NO_REQUESTS
        requested = Requests(asked["time"], asked["vid"], asked["qid"])
        balances = settle(self.accounts, charges, requested, self.balance_at, notices)
        return Answered(notices, alerts, charges, balances)

    def _thesis(
        self, reports: Mapping[str, Array], asked: Mapping[str, Array], expenses: Mapping[str, Array]
    ) -> Answered:
        requests = Requests(asked["time"], asked["vid"], asked["qid"])
        spending = ExpenditureRequests(expenses["time"], expenses["vid"], expenses["xway"], expenses["qid"])
        given = answer(self.trips, Reports.of(reports), requests, spending, self.profile, self.balance_at)
        return Answered(given.notices, given.alerts, NO_CHARGES, given.balances, given.expenditures)

    def _part(self, reports: Reports) -> tuple[Notices, Alerts, Charges]:
        if self.profile.chain_gap is None:
            return answer_reports(self.trips, reports, self.profile)
        followed = follow(self.trips, reports)
        accidents = find_accidents(self.accidents, followed)
        levels = gather(self.statistics, followed)
        return toll(self.tolls, followed, levels, accidents, self.profile)


NO_REQUESTS = {name: np.empty(0, np.int64) for name in ("time", "vid", "xway", "qid")}
NO_CHARGES = Charges(*(np.empty(0, np.int64) for _ in range(5)))


def _joined(kind: type[T], parts: list[T]) -> T:
    """The rows of all parts."""
    if len(parts) == 1:
        return parts[0]
    empty = np.empty(0, np.int64)
    return kind(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) if parts else empty for f in fields(kind)}
    )
