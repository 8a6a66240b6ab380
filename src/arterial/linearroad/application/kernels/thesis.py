"""Linear Road by the rules of profile `thesis2003` (thesis, §3.2): discounts, credits, and accidents that act at once.

A toll depends on the vehicle's account, and so on what it was charged on any expressway up to that second. Therefore
all expressways and all accounts are one shard here, and the stream is taken second by second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.accounts import (
    ACCURATE_SECONDS,
    NOTICE_COLUMNS,
    BalanceAt,
    Balances,
    Requests,
)
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import column
from arterial.linearroad.application.kernels.base.reports import LANE_SHIFT, Reports
from arterial.linearroad.application.kernels.base.table import Table
from arterial.linearroad.application.kernels.pooled import open_minute, pool_reports
from arterial.linearroad.application.kernels.spots import Spot, Spots
from arterial.linearroad.application.kernels.tolls import NO_ACCIDENT, Alerts, Notices, Tariff, accident_ahead
from arterial.linearroad.application.kernels.trips import Followed, follow
from arterial.linearroad.semantics.city import EAST, EXIT_LANE, REPORT_SECONDS, SEGMENTS
from arterial.linearroad.semantics.profiles import Profile
from arterial.network.state import State

ACCOUNT: dict[str, type[np.generic]] = {"balance": np.int64, "charged": np.int32}
TODAY: dict[str, type[np.generic]] = {"spent": np.int64}
XWAY_BITS = 16


@dataclass(frozen=True)
class ExpenditureRequests:
    """Requests for what was spent today, in the order of time."""

    time: Array
    vid: Array
    xway: Array
    qid: Array


@dataclass(frozen=True)
class Expenditures:
    """Answers to them."""

    time: Array
    qid: Array
    balance: Array


@dataclass(frozen=True)
class ThesisAnswers:
    """The answers to one train."""

    notices: Notices
    alerts: Alerts
    balances: Balances
    expenditures: Expenditures


def answer(
    state: State,
    reports: Reports,
    requests: Requests,
    expenses: ExpenditureRequests,
    profile: Profile,
    balance_at: BalanceAt = "last_charge",
) -> ThesisAnswers:
    """The answers to the reports and requests of some whole seconds, of the whole city.

    State: the ring of trips, quotes and exits; the minutes and the tariff; the stopped vehicles; the accounts, by
    vehicle and by vehicle and expressway.
    """
    train = _Train(state, profile, balance_at)
    rows = {second: reports.rows(start, stop) for second, start, stop in reports.seconds()}
    for second in sorted({*rows, *requests.time.tolist(), *expenses.time.tolist()}):
        if second in rows:
            train.take(second, rows[second])
        train.reply(second, requests, expenses)
    return train.answers(requests, expenses)


class _Train:
    """What one train does to the state."""

    def __init__(self, state: State, profile: Profile, balance_at: BalanceAt) -> None:
        self.state = state
        self.profile = profile
        self.balance_at = balance_at
        self.spots = Spots.read(state)
        remembered = ACCOUNT | NOTICE_COLUMNS if balance_at == "last_notice" else ACCOUNT
        self.accounts = Table.open(state, remembered, "account_")
        self.today = Table.open(state, TODAY, "today_")
        self.changed_accounts: list[Array] = []
        self.changed_today: list[Array] = []
        self.notices: list[tuple[Array, ...]] = []
        self.alerts: list[tuple[int, int, int, int, int]] = []
        self.balances: list[tuple[Array, Array]] = []
        self.spent: list[Array] = []

    def take(self, second: int, reports: Reports) -> None:
        """All reports of a second: what they left is charged, then what they enter is quoted."""
        followed = follow(self.state, reports)
        tariff = self._tariff(followed)
        detected = self.spots.stop(second, followed, self.profile.accident_lanes)
        accidents = self.spots.at(second)

        key = chunks.slot(second, REPORT_SECONDS)
        before = chunks.read_of(self.state, "quotes", key, second - REPORT_SECONDS) or NO_QUOTES
        enters = followed.prev_seg != followed.cell % SEGMENTS
        has_pred = followed.pred >= 0
        quote = np.zeros(len(reports), np.int32)
        stays = ~enters
        quote[stays] = before["quote"][followed.pred[stays]]
        exited = reports.lane == EXIT_LANE
        first_exit = exited.copy()
        first_exit[has_pred] &= ~before["exited"][followed.pred[has_pred]]
        exited[has_pred] |= before["exited"][followed.pred[has_pred]]
        self._charge(second, followed, enters & has_pred, before, first_exit, accidents)

        entering = np.flatnonzero(enters & (reports.lane != EXIT_LANE))
        cell, vid = followed.cell[entering], reports.vid[entering]
        amount = self._discounted(self._tolls(tariff, accidents)[cell], vid)
        quote[entering] = amount
        where = reports.xway[entering], reports.dir[entering]
        self.notices.append((vid, reports.time[entering], tariff.lav[cell], amount, *where))
        if self.balance_at == "last_notice":
            self._remember_notices(second, vid)
        chunks.write(self.state, "quotes", key, second, {"quote": quote, "exited": exited})
        if detected:
            self._alert(second, detected)

    def reply(self, second: int, requests: Requests, expenses: ExpenditureRequests) -> None:
        """The requests of a second, after its reports."""
        self.balances.append(self._balances(second, requests.vid[requests.time == second].astype(np.int64)))
        spending = expenses.time == second
        accounts = self.accounts.find(expenses.vid[spending].astype(np.int64))
        rows = self.today.find(_today_keys(np.maximum(accounts, 0), self._indices(expenses.xway[spending])))
        self.spent.append(np.where((accounts >= 0) & (rows >= 0), self.today.columns["spent"][rows], 0))

    def answers(self, requests: Requests, expenses: ExpenditureRequests) -> ThesisAnswers:
        """Save the state; all answers of the train."""
        self.spots.write(self.state)
        for table, changed in ((self.accounts, self.changed_accounts), (self.today, self.changed_today)):
            table.save(self.state, table.find(np.concatenate([EMPTY, *changed])))
        notices = [np.concatenate([EMPTY, *parts]) for parts in zip(*self.notices, strict=True)] or [EMPTY] * 6
        alerts = np.array(self.alerts, np.int64).reshape(-1, 5).T
        result_time, balance = (np.concatenate([EMPTY, *(b[i] for b in self.balances)]) for i in (0, 1))
        return ThesisAnswers(
            Notices(*notices),
            Alerts(*alerts),
            Balances(requests.time, requests.qid, result_time, balance),
            Expenditures(expenses.time, expenses.qid, np.concatenate([EMPTY, *self.spent])),
        )

    def _tariff(self, followed: Followed) -> Tariff:
        """Add the reports to the statistics; the tariff of the minute, which knows of no accidents."""
        sums, levels = open_minute(self.state, followed.minute, followed.cells, self.profile, followed.uneven)
        reports = followed.reports
        pool_reports(
            reports.time, followed.cell, reports.speed, followed.prev_seg, sums.cars, sums.reports, sums.speeds
        )
        sums.write(self.state, "minute", "", followed.minute)
        if levels is None:
            return Tariff.read(self.state, followed.cells, self.profile)
        tariff = Tariff.of(levels, np.full(levels.lav.size, NO_ACCIDENT, np.int8), self.profile)
        tariff.write(self.state)
        return tariff

    def _tolls(self, tariff: Tariff, accidents: list[Spot]) -> Array:
        if not accidents:
            return tariff.toll
        cells = np.array([spot.cell for spot in accidents], np.int32)
        ahead = accident_ahead(cells, tariff.toll.size, *self.profile.toll_free_segments)
        return np.where(ahead == NO_ACCIDENT, tariff.toll, 0)

    def _discounted(self, toll: Array, vid: Array) -> Array:
        """Half of the toll for those who were charged enough, this second included."""
        if self.profile.discount_from is None:
            return toll
        rows = self.accounts.find(vid)
        accrued = np.where(rows >= 0, self.accounts.columns["balance"][rows], 0)
        return np.where(accrued >= self.profile.discount_from, toll // 2, toll)

    def _charge(
        self,
        second: int,
        followed: Followed,
        left: Array,
        before: dict[str, Array],
        first_exit: Array,
        accidents: list[Spot],
    ) -> None:
        """Charge the quotes of segments left, and give credit for the first exit of a trip before an accident."""
        reports = followed.reports
        rows = np.flatnonzero(left)
        amounts = before["quote"][followed.pred[rows]].astype(np.int64)
        if self.profile.exit_credit and accidents:
            near = [row for row in np.flatnonzero(first_exit).tolist() if self._spared(followed, row, accidents)]
            rows = np.concatenate([rows, np.array(near, np.int64)])
            amounts = np.concatenate([amounts, np.full(len(near), -self.profile.exit_credit)])
        rows, amounts = rows[amounts != 0], amounts[amounts != 0]
        vids, xways = reports.vid[rows], followed.cell[rows] // (2 * SEGMENTS)
        rows = self.accounts.insert(vids)
        todays = _today_keys(rows, xways)
        np.add.at(self.accounts.columns["balance"], rows, amounts)
        self.accounts.columns["charged"][rows] = second + 1
        rows = self.today.insert(todays)
        np.add.at(self.today.columns["spent"], rows, amounts)
        self.changed_accounts.append(vids)
        self.changed_today.append(todays)

    def _remember_notices(self, second: int, vid: Array) -> None:
        """Keep the balance of those who are notified, that second's charges included."""
        rows = self.accounts.insert(vid)
        columns = self.accounts.columns
        columns["noticed"][rows] = second + 1
        columns["balance_noticed"][rows] = columns["balance"][rows]
        self.changed_accounts.append(vid)

    def _balances(self, second: int, vid: Array) -> tuple[Array, Array]:
        """The time of each balance, and the balance (rule 17)."""
        rows = self.accounts.find(vid)
        columns = {name: np.where(rows >= 0, values[rows], 0) for name, values in self.accounts.columns.items()}
        if self.balance_at == "last_notice":
            noticed = columns["noticed"]
            balance = np.where(noticed > 0, columns["balance_noticed"], columns["balance"])
            return np.where(noticed > 0, noticed - 1, second), balance
        charged = columns["charged"]
        recent = (charged > 0) & (second - (charged - 1) <= ACCURATE_SECONDS)
        if self.balance_at == "request":
            recent[:] = False
        return np.where(recent, charged - 1, second), columns["balance"]

    def _spared(self, followed: Followed, row: int, accidents: list[Spot]) -> bool:
        """Whether an accident is ahead of a report and near enough."""
        reports = followed.reports
        first, last = self.profile.toll_free_segments
        road, pos = int(followed.cell[row]) // SEGMENTS, int(reports.pos[row])
        onwards = 1 if reports.dir[row] == EAST else -1
        return any(
            spot.road == road
            and first <= onwards * (spot.cell % SEGMENTS - int(reports.seg[row])) <= last
            and onwards * (spot.pos - pos) > 0
            for spot in accidents
        )

    def _alert(self, second: int, detected: set[int]) -> None:
        """Alert all vehicles upstream of new accidents, by their last report from that road in the last 30 s."""
        vids, cells, lanes = [], [], []
        for back in range(REPORT_SECONDS):
            key = chunks.slot(second - back, REPORT_SECONDS)
            trips = chunks.read_of(self.state, "trips", key, second - back)
            if trips is not None:
                vids.append(trips["vid"])
                cells.append(trips["cell"])
                lanes.append(trips["place"] >> LANE_SHIFT & 7)
        vid, cell, lane = np.concatenate(vids), np.concatenate(cells), np.concatenate(lanes)
        xways = self._xways()
        first, last = self.profile.alert_segments
        for at in sorted(detected):
            road = at // SEGMENTS
            here = np.flatnonzero(cell // SEGMENTS == road)
            # The latest reports stand first, and the first of each vehicle is found.
            latest = here[np.unique(vid[here], return_index=True)[1]]
            ahead = (at - cell[latest]) * (1 if road % 2 == EAST else -1)
            hit = latest[(ahead >= first) & (ahead <= last) & (lane[latest] != EXIT_LANE)]
            self.alerts += [(second, v, xways[road // 2], at % SEGMENTS, road % 2) for v in vid[hit].tolist()]

    def _xways(self) -> list[int]:
        """The expressways in the order of their numbers."""
        ledger = chunks.read(self.state, "ledger")
        xways: list[int] = [] if ledger is None else ledger["xways"].tolist()
        return xways

    def _indices(self, xway: Array) -> Array:
        """The numbers of expressways; one without vehicles has a number of its own."""
        known = {number: index for index, number in enumerate(self._xways())} if xway.size else {}
        return np.array([known.get(number, len(known)) for number in xway.tolist()], np.int64)


def _today_keys(account: Array, index: Array) -> Array:
    """By the row of the account, which stays: a vehicle's own number may leave no room for that of an expressway."""
    return column(account << XWAY_BITS | index, np.int64)


EMPTY = np.empty(0, np.int64)
NO_QUOTES: dict[str, Array] = {"quote": np.empty(0, np.int32), "exited": np.empty(0, np.bool_)}
