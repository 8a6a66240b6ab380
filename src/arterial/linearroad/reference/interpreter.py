"""Answers an input second by second: reports first, then what they cause, then the requests of that second."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from arterial.linearroad.formats.events import (
    BALANCE_REQUEST,
    EXPENDITURE_REQUEST,
    POSITION_REPORT,
    TRAVEL_TIME_REQUEST,
)
from arterial.linearroad.reference.accidents import (
    EveryAccident,
    accidents_of,
    nearest,
    segment_of,
    segments_ahead,
)
from arterial.linearroad.reference.accounts import Accounts, Charge
from arterial.linearroad.reference.events import Event, Kept, events_of
from arterial.linearroad.reference.history import Expenditures, Journeys, SegmentRow, TollRow
from arterial.linearroad.reference.statistics import SegmentStatistics
from arterial.linearroad.reference.trips import Trips, run_of
from arterial.linearroad.semantics.city import EAST, EXIT_LANE, REPORT_SECONDS, minute_of
from arterial.linearroad.semantics.profiles import SPEC, Profile

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Expected:
    """The right answers, without their time of emission; the fields stand in the order of the answer tables."""

    notices: list[tuple[int, int, int, int]] = field(default_factory=list)  # vid, time, lav, toll
    alerts: list[tuple[int, int, int, int, int]] = field(default_factory=list)  # time, vid, xway, seg, dir
    balances: list[tuple[int, int, int, int]] = field(default_factory=list)  # time, result_time, qid, balance
    expenditures: list[tuple[int, int, int]] = field(default_factory=list)  # time, qid, balance
    travels: list[tuple[int, int, int, int]] = field(default_factory=list)  # time, qid, travel_time, toll


def answer(
    events: pa.Table | Iterable[Event],
    tolls: Iterable[TollRow] = (),
    segments: Iterable[SegmentRow] = (),
    profile: Profile = SPEC,
    *,
    balance_at: Literal["request", "last_notice"] = "request",
) -> Expected:
    """The right answers to clean events; of several right ones that which our application gives.

    `balance_at` is the dialect's: "last_notice" gives the balance at the vehicle's last toll notice.
    """
    interpreter = _Interpreter(profile, tolls, segments, balance_at)
    for time, second in groupby(events_of(events), key=lambda event: event.time):
        interpreter.second(time, list(second))
    return interpreter.expected


class _Interpreter:
    def __init__(
        self,
        profile: Profile,
        tolls: Iterable[TollRow],
        segments: Iterable[SegmentRow],
        balance_at: Literal["request", "last_notice"],
    ) -> None:
        self.profile = profile
        self.balance_at = balance_at
        self.expected = Expected()
        self.trips = Trips(profile)
        self.statistics = SegmentStatistics(profile)
        self.accidents = accidents_of(profile)
        self.accounts = Accounts()
        self.expenditures = Expenditures(tolls, profile)
        self.journeys = Journeys(segments, profile)
        self.positions: dict[tuple[int, int, int], Event] = {}

    def second(self, time: int, events: list[Event]) -> None:
        """A second is atomic: its state is the one after all its reports, and its requests are answered after that."""
        kept = [self._take(event) for event in events if event.type == POSITION_REPORT]
        moving = [one for one in kept if one is not None]
        self.accidents.take(moving)
        for one in moving:
            self._charge(one)
        for one in moving:
            self._enter(one)
        if self.profile.alert_when == "detection":
            self._alert_all(time)
        for event in events:
            self._reply(event)

    def _take(self, report: Event) -> Kept | None:
        if self.trips.hidden(report):
            self.statistics.add_hidden(report)
            return None
        self.statistics.add(report)
        self.positions[report.vid, report.xway, report.dir] = report
        predecessor = self.trips.predecessor(report)
        exited = report.lane == EXIT_LANE or (predecessor is not None and predecessor.exited)
        return Kept(report, predecessor, run_of(report, predecessor), exited=exited)

    def _charge(self, kept: Kept) -> None:
        """Rule 16: the quote of the segment left, also on arriving in lane 4; and the thesis' credit, once a trip."""
        report, before = kept.report, kept.predecessor
        if before is not None and kept.enters_segment:
            self.accounts.charge(Charge(report.time, report.vid, report.xway, before.quote))
        leaves = kept.exited and not (before is not None and before.exited)
        if leaves and self.profile.exit_credit and self._accident_ahead(report):
            self.accounts.charge(Charge(report.time, report.vid, report.xway, -self.profile.exit_credit))

    def _enter(self, kept: Kept) -> None:
        """Rules 6, 7, 14 and 15: the notice and the alert on entering a segment, and the quote that stays with it."""
        report = kept.report
        quote = 0
        if not kept.enters_segment:
            assert kept.predecessor is not None
            quote = kept.predecessor.quote
        elif report.lane != EXIT_LANE:
            quote = self._notify(report)
        self.trips.keep(Kept(report, None, kept.run, quote, kept.exited))

    def _notify(self, report: Event) -> int:
        minute, place = minute_of(report.time), (report.xway, report.dir, report.seg)
        toll = self.statistics.toll(minute, place)
        if nearest(self.accidents, report, self.profile.toll_free_segments) is not None:
            toll = 0
        if self.profile.discount_from is not None:
            accrued = self.accounts.balance(report.vid, report.time)
            toll = toll // 2 if accrued >= self.profile.discount_from else toll
        lav = self.statistics.lav(minute, place)
        self.expected.notices.append((report.vid, report.time, self.profile.lav_unknown if lav is None else lav, toll))
        self.accounts.notice(report.vid, report.time)
        if self.profile.alert_when == "entering_segment":
            accident = nearest(self.accidents, report, self.profile.alert_segments)
            if accident is not None:
                self.expected.alerts.append((report.time, report.vid, report.xway, accident, report.dir))
        return toll

    def _alert_all(self, time: int) -> None:
        """Thesis §3.2.1: on detection every vehicle in the upstream segments is alerted, by its latest report."""
        assert isinstance(self.accidents, EveryAccident)
        detected = self.accidents.spots(time) - self.accidents.spots(time - 1)
        first, last = self.profile.alert_segments
        for xway, direction, seg in sorted({segment_of(spot) for spot in detected}):
            for at in sorted(self.positions.values()):
                present = at.time > time - REPORT_SECONDS and (at.xway, at.dir) == (xway, direction)
                if present and first <= segments_ahead(at, seg) <= last and at.lane != EXIT_LANE:
                    self.expected.alerts.append((time, at.vid, xway, seg, direction))

    def _accident_ahead(self, report: Event) -> bool:
        assert isinstance(self.accidents, EveryAccident)
        first, last = self.profile.toll_free_segments
        for spot in self.accidents.spots(report.time):
            xway, direction, seg = segment_of(spot)
            passed = spot[3] <= report.pos if report.dir == EAST else spot[3] >= report.pos
            near = first <= segments_ahead(report, seg) <= last
            if (xway, direction) == (report.xway, report.dir) and near and not passed:
                return True
        return False

    def _reply(self, request: Event) -> None:
        if request.type == BALANCE_REQUEST:
            self._reply_balance(request)
        elif request.type == EXPENDITURE_REQUEST:
            if self.profile.expenditure == "today":
                spent: int | None = self.accounts.today(request.vid, request.xway)
            else:
                spent = self.expenditures.of(request)
            if spent is not None:
                self.expected.expenditures.append((request.time, request.qid, spent))
        elif request.type == TRAVEL_TIME_REQUEST:
            self.expected.travels.append((request.time, request.qid, *self.journeys.of(request)))

    def _reply_balance(self, request: Event) -> None:
        """Rule 17."""
        if self.balance_at == "last_notice":
            result_time = self.accounts.last_notice(request.vid, request.time)
            balance = self.accounts.balance(request.vid, result_time)
        else:
            result_time = request.time
            if self.profile.balance_result_time == "last_charge":
                result_time = self.accounts.result_time(request.vid, request.time)
            balance = self.accounts.balance(request.vid, request.time)
        self.expected.balances.append((request.time, result_time, request.qid, balance))
