"""The network of Linear Road: its boxes are the sections of the paper (VLDB 2004, §3.2; thesis, §5.1).

Two partition keys, so two superboxes: what happens on a road is keyed by expressway and direction, what is charged to a
vehicle by vehicle. Requests that only look into the history need no key at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.errors import NetworkError
from arterial.linearroad.application.boxes.accidents import Accidents
from arterial.linearroad.application.boxes.accounts import Accounts
from arterial.linearroad.application.boxes.columns import ROAD_KEY
from arterial.linearroad.application.boxes.daily_expenditure import DailyExpenditure
from arterial.linearroad.application.boxes.lasting_trips import LastingTrips
from arterial.linearroad.application.boxes.segment_statistics import SegmentStatistics
from arterial.linearroad.application.boxes.tolls import Tolls
from arterial.linearroad.application.boxes.travel_time import TravelTime
from arterial.linearroad.application.boxes.trips import UNEVEN, Trips
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.rules import rules_of
from arterial.linearroad.events import BALANCE_REQUEST, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST
from arterial.linearroad.kernels.accounts import BalanceAt
from arterial.linearroad.profiles import Profile
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

    `balance_at` is the dialect's word: `last_notice` asks for balances as the validator of 2004 wants them.
    """
    net = Network(f"linear road ({profile.name})")
    reports = net.source("reports", REPORT_SCHEMA).group_by(*ROAD_KEY)
    requests = net.source("requests", REQUEST_SCHEMA)

    tolls = _spec_tolls(reports, profile) if profile.chain_gap is not None else _lasting_tolls(reports, profile)
    notices, alerts, charges = (tolls.port_named(port) for port in ("notices", "alerts", "charges"))
    notices.output("notices")
    alerts.output("alerts")

    moment: BalanceAt = "last_notice" if balance_at == "last_notice" else profile.balance_result_time
    accounts: dict[str, StreamHandle] = {
        "charges": charges.group_by("vid"),
        "requests": requests.filter("balance_requests", f"type = {BALANCE_REQUEST}").group_by("vid"),
    }
    if moment == "last_notice":
        accounts["notices"] = notices.group_by("vid")
    net.box(Accounts("accounts", moment), **accounts).output("balances")

    asked = requests.filter("expenditure_requests", f"type = {EXPENDITURE_REQUEST}")
    expenditure = DailyExpenditure(
        "daily_expenditure",
        None if history.tolls is None else str(history.tolls),
        profile.unknown_expenditure,
        history.vids_apart,
        history.xways_apart,
    )
    asked.box(expenditure).output("expenditures")
    asked = requests.filter("travel_requests", f"type = {TRAVEL_TIME_REQUEST}")
    travel = TravelTime("travel_time", None if history.segments is None else str(history.segments), history.xways_apart)
    asked.box(travel).output("travels")
    return net.value


def _spec_tolls(reports: StreamHandle, profile: Profile) -> StreamHandle:
    if profile.expenditure == "today":
        raise NetworkError(f"profile {profile.name!r} is not one that this network can follow")
    trips = reports.box(Trips("trips"))
    uneven = trips.port_named(UNEVEN)
    accidents = trips.filter("stopped_vehicles", "stopped").box(Accidents("accidents"))
    net = reports.network
    statistics = net.box(SegmentStatistics("segment_statistics"), **{"in": trips, UNEVEN: uneven})
    return net.box(
        Tolls("tolls", profile.name, rules_of(profile)),
        **{"in": trips, "statistics": statistics, "accidents": accidents},
    )


def _lasting_tolls(reports: StreamHandle, profile: Profile) -> StreamHandle:
    return reports.box(LastingTrips("tolls", profile.name, rules_of(profile)))
