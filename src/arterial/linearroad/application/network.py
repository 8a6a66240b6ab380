"""The network of Linear Road: its boxes are the sections of the paper (VLDB 2004, §3.2; thesis, §5.1).

Two partition keys, so two superboxes: what happens on a road is keyed by expressway and direction, what is charged to a
vehicle by vehicle. Requests that only look into the history need no key at all. By the thesis' rules tolls depend on
accounts and accounts on tolls, so there both are one box.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.linearroad.application.boxes.accidents import Accidents
from arterial.linearroad.application.boxes.accounts import Accounts
from arterial.linearroad.application.boxes.columns import ROAD_KEY
from arterial.linearroad.application.boxes.daily_expenditure import DailyExpenditure
from arterial.linearroad.application.boxes.lasting_trips import LastingTrips
from arterial.linearroad.application.boxes.segment_statistics import SegmentStatistics
from arterial.linearroad.application.boxes.thesis_city import ThesisCity
from arterial.linearroad.application.boxes.tolls import Tolls
from arterial.linearroad.application.boxes.travel_time import TravelTime
from arterial.linearroad.application.boxes.trips import UNEVEN, Trips
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.kernels.accounts import BalanceAt
from arterial.linearroad.application.rules import rules_of
from arterial.linearroad.formats.events import BALANCE_REQUEST, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST
from arterial.linearroad.semantics.profiles import Profile
from arterial.network.network import NetworkValue


@dataclass(frozen=True)
class History:
    """Where the history is, and how far apart the numbers of replicas are; 0 where there are none."""

    tolls: Path | None = None
    segments: Path | None = None
    vids_apart: int = 0
    xways_apart: int = 0


def linear_road_network(profile: Profile, history: History, *, balance_at: str = "request") -> NetworkValue:
    """The network that answers all five queries.

    `balance_at` is that of the dialect: `last_notice` asks for balances as the validator of 2004 wants them.
    """
    net = Network(f"linear road ({profile.name})")
    reports = net.source("reports", REPORT_SCHEMA)
    requests = net.source("requests", REQUEST_SCHEMA)
    moment: BalanceAt = "last_notice" if balance_at == "last_notice" else profile.balance_result_time
    if profile.expenditure == "today":
        _whole_city(reports, requests, profile, moment)
    else:
        _roads_and_accounts(reports, requests, profile, moment)
        _past_expenditures(requests, profile, history)
    _travel_times(requests, profile, history)
    return net.value


def _roads_and_accounts(reports: StreamHandle, requests: StreamHandle, profile: Profile, moment: BalanceAt) -> None:
    roads = reports.group_by(*ROAD_KEY)
    tolls = _spec_tolls(roads, profile) if profile.chain_gap is not None else _lasting_tolls(roads, profile)
    notices, alerts, charges = (tolls.port_named(port) for port in ("notices", "alerts", "charges"))
    notices.output("notices")
    alerts.output("alerts")
    accounts: dict[str, StreamHandle] = {
        "charges": charges.group_by("vid"),
        "requests": requests.filter("balance_requests", f"type = {BALANCE_REQUEST}").group_by("vid"),
    }
    if moment == "last_notice":
        accounts["notices"] = notices.group_by("vid")
    reports.network.box(Accounts("accounts", moment), **accounts).output("balances")


def _spec_tolls(roads: StreamHandle, profile: Profile) -> StreamHandle:
    trips = roads.box(Trips("trips"))
    uneven = trips.port_named(UNEVEN)
    accidents = trips.filter("stopped_vehicles", "stopped").box(Accidents("accidents"))
    net = roads.network
    statistics = net.box(SegmentStatistics("segment_statistics"), **{"in": trips, UNEVEN: uneven})
    return net.box(
        Tolls("tolls", profile.name, rules_of(profile)),
        **{"in": trips, "statistics": statistics, "accidents": accidents},
    )


def _lasting_tolls(roads: StreamHandle, profile: Profile) -> StreamHandle:
    return roads.box(LastingTrips("tolls", profile.name, rules_of(profile)))


def _whole_city(reports: StreamHandle, requests: StreamHandle, profile: Profile, moment: BalanceAt) -> None:
    """Everything that follows from reports and accounts, by the thesis' rules."""
    asked = requests.filter("account_requests", f"type = {BALANCE_REQUEST} or type = {EXPENDITURE_REQUEST}")
    box = ThesisCity("tolls_and_accounts", profile.name, rules_of(profile), moment)
    city = reports.network.box(box, reports=reports, requests=asked)
    for port in box.outputs:
        city.port_named(port).output(port)


def _past_expenditures(requests: StreamHandle, profile: Profile, history: History) -> None:
    asked = requests.filter("expenditure_requests", f"type = {EXPENDITURE_REQUEST}")
    expenditure = DailyExpenditure(
        "daily_expenditure",
        None if history.tolls is None else str(history.tolls),
        profile.unknown_expenditure,
        history.vids_apart,
        history.xways_apart,
    )
    asked.box(expenditure).output("expenditures")


def _travel_times(requests: StreamHandle, profile: Profile, history: History) -> None:
    asked = requests.filter("travel_requests", f"type = {TRAVEL_TIME_REQUEST}")
    segments = None if history.segments is None else str(history.segments)
    travel = TravelTime("travel_time", segments, history.xways_apart, profile.name, rules_of(profile))
    asked.box(travel).output("travels")
