"""The network of Linear Road: its boxes are the sections of the paper (VLDB 2004, §3.2; thesis, §5.1).

Two partition keys, so two superboxes: what happens on a road is keyed by expressway and direction, what is charged to a
vehicle by vehicle. Requests that only look into the history need no key at all. By the thesis' rules tolls depend on
accounts and accounts on tolls, so there both are one box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arterial import Delay, Network, QoS
from arterial.drawing import StreamHandle
from arterial.linearroad.application.boxes.accidents import Accidents
from arterial.linearroad.application.boxes.accounts import Accounts
from arterial.linearroad.application.boxes.answers import ALERTS, NOTICES
from arterial.linearroad.application.boxes.daily_expenditure import DailyExpenditure
from arterial.linearroad.application.boxes.lasting_trips import LastingTrips
from arterial.linearroad.application.boxes.segment_statistics import SegmentStatistics
from arterial.linearroad.application.boxes.thesis_city import ThesisCity
from arterial.linearroad.application.boxes.tolls import Tolls
from arterial.linearroad.application.boxes.travel_time import TravelTime
from arterial.linearroad.application.boxes.trips import UNEVEN, Trips
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA, ROAD_KEY
from arterial.linearroad.application.kernels.accounts import BalanceAt
from arterial.linearroad.application.rules import rules_of
from arterial.linearroad.formats.answers import TABLE_OF_TYPE
from arterial.linearroad.formats.events import BALANCE_REQUEST, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST
from arterial.linearroad.semantics.profiles import Profile
from arterial.network.duration import Duration
from arterial.network.network import NetworkValue

KEPT_REPORTS, KEPT_NOTICES, KEPT_ALERTS = "kept_reports", "kept_notices", "kept_alerts"
"""The connection points, where they are wanted."""
PLACE = ("xway", "seg")
WEIGHTS = {"notices": 3.0, "alerts": 3.0, "balances": 2.0, "expenditures": 1.0, "travels": 1.0}
"""A driver acts on notices and alerts at once, accounts must be right; requests about the past can be asked again."""

ASKED_AGAIN = ((0.0, 0.0), (0.1, 0.99), (1.0, 1.0))
"""How much of the requests about the past is answered: while one in ten is, little is lost. So they go first."""
SHARES = {"expenditures": ASKED_AGAIN, "travels": ASKED_AGAIN}
"""The graphs of the delivered share; the other outputs lose in proportion."""


@dataclass(frozen=True)
class History:
    """Where the history is, and how far apart the numbers of replicas are; 0 where there are none."""

    tolls: Path | None = None
    segments: Path | None = None
    vids_apart: int = 0
    xways_apart: int = 0


def linear_road_network(
    profile: Profile, history: History, *, balance_at: str = "request", keep: Duration | None = None
) -> NetworkValue:
    """The network that answers all five queries.

    `balance_at` is that of the dialect: `last_notice` asks for balances as the validator of 2004 wants them. With
    `keep`, the connection points `kept_reports`, `kept_notices` and `kept_alerts` keep that much, for ad-hoc queries.
    """
    net = Network(f"linear road ({profile.name})")
    reports = net.source("reports", REPORT_SCHEMA)
    requests = net.source("requests", REQUEST_SCHEMA)
    moment: BalanceAt = "last_notice" if balance_at == "last_notice" else profile.balance_result_time
    if profile.expenditure == "today":
        _whole_city(reports, requests, profile, moment, keep)
    else:
        _roads_and_accounts(reports, requests, profile, moment, keep)
        _past_expenditures(requests, profile, history)
    _travel_times(requests, profile, history)
    return net.value


def quality_of(output: str, profile: Profile) -> QoS:
    """What is asked of an output: its answers come within the profile's limit, and are worthless at twice that."""
    limit = next(limit for kind, limit in profile.response_limit.items() if TABLE_OF_TYPE[kind] == output)
    return QoS(Delay(limit, 2 * limit), SHARES.get(output, ()), weight=WEIGHTS[output])


def _keep(stream: StreamHandle, name: str, keep: Duration | None, storage_key: Sequence[str]) -> None:
    """Keep a stream beside its way, so that nothing on the way changes."""
    if keep is not None:
        stream.connection_point(name, keep, storage_key)


def _roads_and_accounts(
    reports: StreamHandle, requests: StreamHandle, profile: Profile, moment: BalanceAt, keep: Duration | None
) -> None:
    roads = reports.group_by(*ROAD_KEY)
    _keep(roads, KEPT_REPORTS, keep, PLACE)
    tolls = _spec_tolls(roads, profile) if profile.chain_gap is not None else _lasting_tolls(roads, profile)
    notices, alerts, charges = (tolls.port_named(port) for port in ("notices", "alerts", "charges"))
    notices.output("notices", qos=quality_of("notices", profile))
    alerts.output("alerts", qos=quality_of("alerts", profile))
    _keep(notices, KEPT_NOTICES, keep, ("vid",))
    _keep(alerts, KEPT_ALERTS, keep, PLACE)
    accounts: dict[str, StreamHandle] = {
        "charges": charges.group_by("vid"),
        "requests": requests.filter("balance_requests", f"type = {BALANCE_REQUEST}").group_by("vid"),
    }
    if moment == "last_notice":
        accounts["notices"] = notices.group_by("vid")
    reports.network.box(Accounts("accounts", moment), **accounts).output(
        "balances", qos=quality_of("balances", profile)
    )


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


def _whole_city(
    reports: StreamHandle, requests: StreamHandle, profile: Profile, moment: BalanceAt, keep: Duration | None
) -> None:
    """Everything that follows from reports and accounts, by the thesis' rules."""
    _keep(reports, KEPT_REPORTS, keep, PLACE)
    asked = requests.filter("account_requests", f"type = {BALANCE_REQUEST} or type = {EXPENDITURE_REQUEST}")
    box = ThesisCity("tolls_and_accounts", profile.name, rules_of(profile), moment)
    city = reports.network.box(box, reports=reports, requests=asked)
    for port in box.outputs:
        city.port_named(port).output(port, qos=quality_of(port, profile))
    _keep(city.port_named(NOTICES), KEPT_NOTICES, keep, ("vid",))
    _keep(city.port_named(ALERTS), KEPT_ALERTS, keep, PLACE)


def _past_expenditures(requests: StreamHandle, profile: Profile, history: History) -> None:
    asked = requests.filter("expenditure_requests", f"type = {EXPENDITURE_REQUEST}")
    expenditure = DailyExpenditure(
        "daily_expenditure",
        None if history.tolls is None else str(history.tolls),
        profile.unknown_expenditure,
        history.vids_apart,
        history.xways_apart,
    )
    asked.box(expenditure).output("expenditures", qos=quality_of("expenditures", profile))


def _travel_times(requests: StreamHandle, profile: Profile, history: History) -> None:
    asked = requests.filter("travel_requests", f"type = {TRAVEL_TIME_REQUEST}")
    segments = None if history.segments is None else str(history.segments)
    travel = TravelTime("travel_time", segments, history.xways_apart, profile.name, rules_of(profile))
    asked.box(travel).output("travels", qos=quality_of("travels", profile))
