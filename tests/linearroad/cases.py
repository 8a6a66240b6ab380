"""Edge cases of Linear Road, each with the answers written by hand and the rule that decides.

Every implementation of the semantics must pass all of them. A case names only the tables that it is about, and only the
vehicles (for notices and alerts) that it watches; requests are told by their QID.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arterial.linearroad.reference import Event, SegmentRow, TollRow
from arterial.linearroad.semantics.profiles import SPEC, THESIS2003, WALMART, Profile, profile
from tests.linearroad.cities import balance, crowd, expenditure, report, stopped, travel


@dataclass(frozen=True)
class Case:
    """An input and what must come of it. `expected` has rows in the order of the answer tables, without Emit."""

    name: str
    rule: str
    events: Sequence[Event]
    expected: Mapping[str, Sequence[tuple[int, ...]]]
    profile: Profile = SPEC
    tolls: Sequence[TollRow] = ()
    segments: Sequence[SegmentRow] = ()
    watch: frozenset[int] = field(default=frozenset(range(1, 100)))
    balance_at: str = "request"

    def seen(self, table: str, rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Those rows of a table that the case is about, sorted."""
        vehicle = {"notices": 0, "alerts": 1}.get(table)
        return sorted(row for row in rows if vehicle is None or row[vehicle] in self.watch)


def _pair(start: int, reports: int, seg: int, **where: int) -> list[Event]:
    """Two cars, 101 and 102, stopped at one place."""
    return stopped(101, start, reports, seg, **where) + stopped(102, start, reports, seg, **where)


def _alerts(name: str, rule: str, events: Sequence[Event], *alerts: tuple[int, ...], **more: object) -> Case:
    return Case(name, rule, events, {"alerts": alerts}, **more)  # type: ignore[arg-type]


# Four reports from 0 s: stopped in [90, 120), which is minute 2; the accident has effect in minute 3, [120, 180).
ACCIDENTS = [
    _alerts(
        "accident at segment 99 eastbound",
        "13: Dn is clamped to 99; four upstream segments are in range, the fifth is not",
        [*_pair(0, 4, 99), report(120, 1, 95), report(120, 2, 94), report(120, 3, 99)],
        (120, 1, 0, 99, 0),
        (120, 3, 0, 99, 0),
    ),
    _alerts(
        "accident at segment 0 westbound",
        "13: westbound goes down; accidents count in their own direction only",
        [
            *_pair(0, 4, 0, direction=1),
            report(120, 1, 4, direction=1),
            report(120, 2, 5, direction=1),
            report(120, 3, 0),
            report(120, 4, 0, xway=1, direction=1),
        ],
        (120, 1, 0, 0, 1),
    ),
    _alerts("three reports are no stop", "9: four consecutive reports", [*_pair(0, 3, 50), report(120, 1, 50)]),
    _alerts(
        "exactly four reports, then silence",
        "11, 12: minute 2 counts, so minute 3 is affected, and the stops lapse at 120",
        [*_pair(0, 4, 50), report(119, 1, 50), report(120, 2, 50), report(179, 3, 50), report(180, 4, 50)],
        (120, 2, 0, 50, 0),
        (179, 3, 0, 50, 0),
    ),
    _alerts(
        "one stopped car is no accident",
        "10: two or more vehicles",
        [*stopped(101, 0, 8, 50), report(200, 1, 50)],
    ),
    _alerts(
        "one car on two chains is one car",
        "10: two different vehicles",
        [*stopped(101, 0, 8, 50), *stopped(101, 15, 8, 50), report(200, 1, 50)],
    ),
    _alerts(
        "a third car keeps the accident alive",
        "11: as long as at least two are stopped there: 102 until 150, 103 until 165, so through minute 3",
        [
            *stopped(101, 0, 4, 50),
            *stopped(102, 0, 5, 50),
            *stopped(103, 15, 5, 50),
            report(200, 1, 50),
            report(239, 2, 50),
            report(240, 3, 50),
        ],
        (200, 1, 0, 50, 0),
        (239, 2, 0, 50, 0),
    ),
    _alerts(
        "a stop on an entrance ramp",
        "10: lanes 1–3 only",
        [*_pair(0, 4, 50, lane=0), report(120, 1, 50)],
    ),
    _alerts("a stop on an exit ramp", "10: lanes 1–3 only", [*_pair(0, 4, 50, lane=4), report(120, 1, 50)]),
    _alerts(
        "stops in two lanes of one position",
        "10: the same lane",
        [*stopped(101, 0, 4, 50, lane=1), *stopped(102, 0, 4, 50, lane=2), report(120, 1, 50)],
    ),
    _alerts(
        "a car leaves in the very second of the other's fourth report",
        "11: [90, 120) and [120, 150) share no second",
        [*stopped(101, 0, 4, 50), report(120, 101, 51), *stopped(102, 30, 4, 50), report(180, 1, 50)],
    ),
    _alerts(
        "two cars stopped together for one second",
        "11: second 119 belongs to minute 2",
        [*stopped(101, 0, 4, 50), *stopped(102, 29, 4, 50), report(120, 1, 50), report(180, 2, 50)],
        (120, 1, 0, 50, 0),
    ),
    _alerts(
        "a clearing report in the first second of a minute",
        "11: cleared at 120, it ends before minute 3",
        [*_pair(0, 4, 50), report(120, 101, 51), report(179, 1, 50), report(180, 2, 50)],
        (179, 1, 0, 50, 0),
    ),
    _alerts(
        "a clearing report in the second second of a minute",
        "11: cleared at 121, second 120 makes minute 3 count",
        [*_pair(1, 4, 50), report(121, 101, 51), report(180, 1, 50), report(240, 2, 50)],
        (180, 1, 0, 50, 0),
    ),
    _alerts(
        "several accidents in range",
        "14: one alert, for the nearest",
        [
            *_pair(0, 4, 52),
            *stopped(103, 0, 4, 54),
            *stopped(104, 0, 4, 54),
            report(120, 1, 51),
            report(120, 2, 53),
        ],
        (120, 1, 0, 52, 0),
        (120, 2, 0, 54, 0),
    ),
    _alerts(
        "no alert in lane 4 and none within a segment",
        "15: the same trigger as a toll notice",
        [*_pair(0, 4, 50), report(120, 1, 50, lane=4), report(119, 2, 50), report(149, 2, 50)],
    ),
    _alerts(
        "an accident is placed by Pos",
        "10: Pos 264000 is in segment 50, whatever Seg says",
        [*_pair(0, 4, 49, pos=264_000), report(120, 1, 50), report(120, 2, 51)],
        (120, 1, 0, 50, 0),
    ),
    _alerts(
        "walmart: a silent car stays stopped",
        "12 walmart: never lapses",
        [*_pair(0, 4, 50), report(5000, 1, 50)],
        (5000, 1, 0, 50, 0),
        profile=WALMART,
    ),
    _alerts(
        "walmart: the effect ends with the minute of the clearing report",
        "11 walmart: 101 moves at 150 in minute 3",
        [*_pair(0, 5, 50), report(150, 101, 51), report(179, 1, 50), report(180, 2, 50)],
        (179, 1, 0, 50, 0),
        profile=WALMART,
    ),
    _alerts(
        "walmart: a stop on an entrance ramp",
        "10 walmart: any lane",
        [*_pair(0, 4, 50, lane=0), report(120, 1, 50)],
        (120, 1, 0, 50, 0),
        profile=WALMART,
    ),
    _alerts(
        "walmart: one accident a segment, ever",
        "10 walmart: the second accident of segment 50 is not seen",
        [
            *_pair(0, 4, 50),
            report(120, 101, 51),
            *stopped(103, 300, 4, 50, pos=264_001),
            *stopped(104, 300, 4, 50, pos=264_001),
            report(600, 1, 50),
        ],
        profile=WALMART,
    ),
    _alerts(
        "walmart: reports with gaps stop a car too",
        "9 walmart: consecutive reports whatever the gap",
        [
            *(report(t, vid, 50, speed=0) for t in (0, 50, 100, 170) for vid in (101, 102)),
            report(180, 1, 50),
        ],
        (180, 1, 0, 50, 0),
        profile=WALMART,
    ),
    _alerts(
        "thesis: vehicles up to five segments upstream are alerted at detection",
        "thesis §3.2.1: by their position in the last 30 s; who enters later is not alerted",
        [
            *_pair(0, 6, 12),
            report(70, 4, 11),
            report(61, 6, 7),
            report(70, 7, 6),
            report(60, 8, 11),
            report(70, 9, 11, lane=4),
            report(91, 10, 11),
        ],
        (90, 4, 0, 12, 0),
        (90, 6, 0, 12, 0),
        profile=THESIS2003,
    ),
    _alerts(
        "thesis: two accidents in one segment in one second are one alert",
        "thesis §3.2.1: the alert names the segment; one that is detected later has an alert of its own",
        [
            *_pair(0, 6, 12),
            *(one for vid in (103, 104) for one in stopped(vid, 0, 6, 12, lane=2)),
            *(one for vid in (105, 106) for one in stopped(vid, 30, 6, 12, lane=3)),
            report(70, 1, 11),
            report(100, 1, 11),
        ],
        (90, 1, 0, 12, 0),
        (120, 1, 0, 12, 0),
        profile=THESIS2003,
    ),
]

# A crowd of 51 slow cars in minute 2 makes the toll of minute 3 exactly 2.
TOLLS = [
    Case(
        "the first report of all",
        "4, 7: no report in any of the 5 minutes: LAV -1, toll 0, and still a notice",
        [report(0, 1, 10)],
        {"notices": [(1, 0, -1, 0)]},
    ),
    Case("50 cars", "6: no toll", [*crowd(50, 60, 10), report(120, 1, 10)], {"notices": [(1, 120, 30, 0)]}),
    Case("51 cars", "6: 2 * 1²", [*crowd(51, 60, 10), report(120, 1, 10)], {"notices": [(1, 120, 30, 2)]}),
    Case(
        "cars of minute m-1 alone",
        "5: the 60 cars of minute 1 do not count in minute 3, the speeds do",
        [*crowd(60, 0, 10, speed=10), *crowd(51, 60, 10, speed=31), report(120, 1, 10)],
        {"notices": [(1, 120, 20, 2)]},
    ),
    Case(
        "LAV exactly 40",
        "6: LAV < 40",
        [*crowd(51, 60, 10, speed=40), report(120, 1, 10)],
        {"notices": [(1, 120, 40, 0)]},
    ),
    Case(
        "LAV of thirds is exactly 40",
        "fine point LAV: (121/3 + 119/3) / 2",
        [
            *crowd(34, 0, 10, speed=40),
            *crowd(17, 0, 10, speed=41, first=2000),
            *crowd(17, 60, 10, speed=39),
            *crowd(34, 60, 10, speed=40, first=2000),
            report(120, 1, 10),
        ],
        {"notices": [(1, 120, 40, 0)]},
    ),
    Case(
        "LAV just below 40",
        "2: floor",
        [*crowd(50, 60, 10, speed=40), *crowd(1, 60, 10, speed=39, first=2000), report(120, 1, 10)],
        {"notices": [(1, 120, 39, 2)]},
    ),
    Case(
        "minutes without reports are left out",
        "3: reports in minute 1 alone tell the LAV of minutes 2–6",
        [report(0, 101, 10, speed=20), report(120, 1, 10), report(359, 2, 10)],
        {"notices": [(1, 120, 20, 0), (2, 359, 35, 0)]},
    ),
    Case(
        "after five minutes nothing is known",
        "4: minute 7 looks at minutes 2–6, minute 13 at 8–12",
        [report(0, 101, 10, speed=20), report(359, 1, 10), report(360, 2, 10), report(720, 3, 10)],
        {"notices": [(1, 359, 20, 0), (2, 360, 50, 0), (3, 720, -1, 0)]},
    ),
    Case(
        "a vehicle's own mean comes first",
        "1: ((10+30)/2 + 50) / 2",
        [report(0, 101, 10, speed=10), report(30, 101, 10, speed=30), report(0, 102, 10, speed=50), report(60, 1, 10)],
        {"notices": [(1, 60, 35, 0)]},
    ),
    Case(
        "walmart: all reports are pooled",
        "1 walmart: (10+30+50) / 3",
        [report(0, 101, 10, speed=10), report(30, 101, 10, speed=30), report(0, 102, 10, speed=50), report(60, 1, 10)],
        {"notices": [(1, 60, 30, 0)]},
        profile=WALMART,
    ),
    Case(
        "walmart: LAV is rounded half up",
        "2 walmart: 39.5 becomes 40",
        [report(0, 101, 10, speed=39), report(0, 102, 10, speed=40), report(60, 1, 10), report(0, 2, 30)],
        {"notices": [(1, 60, 40, 0), (2, 0, 0, 0)]},
        profile=WALMART,
    ),
    Case(
        "every lane counts",
        "5: ramps too",
        [
            *(report(60, 1000 + i, 10, lane=0, speed=30) for i in range(25)),
            *(report(60, 2000 + i, 10, lane=4, speed=30) for i in range(26)),
            report(120, 1, 10),
        ],
        {"notices": [(1, 120, 30, 2)]},
    ),
    Case(
        "an accident downstream makes the toll 0",
        "6, 7: the notice goes out besides the alert",
        [*crowd(51, 60, 10), *_pair(0, 4, 14), report(120, 1, 10), report(180, 2, 10)],
        {"notices": [(1, 120, 30, 0), (2, 180, 40, 0)], "alerts": [(120, 1, 0, 14, 0)]},
    ),
    Case(
        "never in lane 4",
        "7, and a segment entered in lane 4 is not notified later either",
        [report(0, 1, 10, lane=4), report(30, 1, 10), report(60, 1, 11)],
        {"notices": [(1, 60, -1, 0)]},
    ),
    Case(
        "re-entry in the same segment",
        "8: a gap starts a new trip",
        [report(0, 1, 10), report(30, 1, 10), report(120, 1, 10)],
        {"notices": [(1, 0, -1, 0), (1, 120, 50, 0)]},
    ),
    Case(
        "a report set aside breaks the chain",
        "8: the report of second 30 had speed -1 and is not there",
        [report(0, 1, 10), report(60, 1, 10)],
        {"notices": [(1, 0, -1, 0), (1, 60, 50, 0)]},
    ),
    Case(
        "interleaved chains",
        "8: 0, 30, 60 and 15, 45 are two trips",
        [report(t, 1, 10) for t in (0, 15, 30, 45, 60)],
        {"notices": [(1, 0, -1, 0), (1, 15, -1, 0)]},
    ),
    Case(
        "another direction or expressway is another trip",
        "8: the same expressway and direction",
        [report(0, 1, 10), report(30, 1, 10, direction=1), report(60, 1, 10, xway=1)],
        {"notices": [(1, 0, -1, 0), (1, 30, -1, 0), (1, 60, -1, 0)]},
    ),
    Case(
        "walmart: a gap goes on with the trip",
        "8 walmart: a new trip only by lane 0 and a gap over 60 s",
        [report(0, 1, 10), report(200, 1, 10), report(260, 1, 10, lane=0), report(321, 1, 10, lane=0)],
        {"notices": [(1, 0, 0, 0), (1, 321, 50, 0)]},
        profile=WALMART,
    ),
    Case(
        "walmart: after lane 4 a vehicle is ignored until lane 0",
        "5 walmart",
        [report(0, 1, 10, lane=4), report(30, 1, 11), report(60, 1, 12), report(90, 1, 13, lane=0), report(120, 2, 11)],
        {"notices": [(1, 90, 0, 0), (2, 120, 0, 0)]},
        profile=WALMART,
    ),
    Case(
        "walmart: an ignored report that is the first of its segment and minute counts its vehicle",
        "5 walmart: 50 cars and the ignored one",
        [report(30, 101, 10, lane=4), report(60, 101, 10, speed=99), *crowd(50, 61, 10), report(120, 1, 10)],
        {"notices": [(1, 120, 30, 2)]},
        profile=WALMART,
    ),
    Case(
        "walmart: an ignored report that is not the first counts nothing",
        "5 walmart: 50 cars; (50 * 30 + 50) / 51 rounds to 30",
        [report(30, 101, 10, lane=4), *crowd(50, 60, 10), report(61, 101, 10, speed=99), report(120, 1, 10)],
        {"notices": [(1, 120, 30, 0)]},
        profile=WALMART,
    ),
    Case(
        "thesis: the toll is not bounded below 150 cars",
        "thesis §3.2.1: basetoll * (n - 150)² whenever the mean speed is below 40",
        [*crowd(151, 60, 10), *crowd(149, 60, 20, first=3000), report(120, 1, 10), report(120, 2, 20)],
        {"notices": [(1, 120, 30, 2), (2, 120, 30, 2)]},
        profile=THESIS2003,
    ),
    Case(
        "thesis: half price for the frequent traveller",
        "thesis §3.2.1: once ftmin has been charged, that second's charge included",
        [*crowd(151, 60, 10), *crowd(151, 60, 11, first=3000), report(120, 1, 10), report(150, 1, 11)],
        {"notices": [(1, 120, 30, 2), (1, 150, 30, 1)]},
        profile=profile("thesis2003", ftmin=2),
    ),
]

BALANCES = [
    Case(
        "requests around a charge",
        "17: after all reports of its second; exactly 60 s old is not older",
        [
            *crowd(51, 60, 10),
            balance(149, 1, 1),
            balance(150, 1, 2),
            report(120, 1, 10),
            report(150, 1, 11),
            balance(210, 1, 3),
            balance(211, 1, 4),
            balance(211, 99, 5),
        ],
        {"balances": [(149, 149, 1, 0), (150, 150, 2, 2), (210, 150, 3, 2), (211, 211, 4, 2), (211, 211, 5, 0)]},
    ),
    Case(
        "crossing straight into lane 4",
        "16: the segment left is charged; the quote of a segment entered in lane 4 is 0",
        [*crowd(51, 60, 10), report(120, 1, 10), report(150, 1, 11, lane=4), report(180, 1, 12), balance(180, 1, 1)],
        {"balances": [(180, 150, 1, 2)], "notices": [(1, 120, 30, 2), (1, 180, -1, 0)]},
    ),
    Case(
        "the segment of the exit is not charged",
        "16",
        [*crowd(51, 60, 10), report(120, 1, 10), report(150, 1, 10, lane=4), balance(180, 1, 1)],
        {"balances": [(180, 180, 1, 0)]},
    ),
    Case(
        "the quote is charged, not the toll of the moment",
        "16: quoted 2 in minute 3, when minute 4 would cost 0",
        [*crowd(51, 60, 10), report(150, 1, 10), report(180, 1, 10), report(210, 1, 11), balance(210, 1, 1)],
        {"balances": [(210, 210, 1, 2)]},
    ),
    Case(
        "a crossing with toll 0 is no charge",
        "17: the result time is that of the charge at 150, not of the crossing at 180",
        [*crowd(51, 60, 10), *(report(90 + 30 * i, 1, 9 + i) for i in range(4)), balance(185, 1, 1)],
        {"balances": [(185, 150, 1, 2)]},
    ),
    Case(
        "a vehicle on two expressways has one account",
        "17: over every expressway",
        [
            *crowd(51, 60, 10),
            *crowd(51, 60, 10, xway=1, first=3000),
            report(120, 1, 10),
            report(125, 1, 10, xway=1),
            report(150, 1, 11),
            report(155, 1, 11, xway=1),
            balance(154, 1, 1),
            balance(155, 1, 2),
        ],
        {"balances": [(154, 150, 1, 2), (155, 155, 2, 4)]},
    ),
    Case(
        "a gap is no crossing",
        "8, 16: the quote of a broken trip is never charged",
        [*crowd(51, 60, 10), report(120, 1, 10), report(180, 1, 11), balance(180, 1, 1)],
        {"balances": [(180, 180, 1, 0)]},
    ),
    Case(
        "walmart: a gap is charged on crossing",
        "8, 17 walmart: and the result time is the request's",
        [*crowd(51, 60, 10), report(120, 1, 10), report(180, 1, 11), balance(200, 1, 1)],
        {"balances": [(200, 200, 1, 2)]},
        profile=WALMART,
    ),
    Case(
        "repeated QIDs are answered each",
        "fine point",
        [balance(10, 1, 7), balance(10, 2, 7), balance(11, 1, 7)],
        {"balances": [(10, 10, 7, 0), (10, 10, 7, 0), (11, 11, 7, 0)]},
    ),
    Case(
        "original: the balance at the last toll notice",
        "17, dialect original: lane 4 charges at 180 without a notice; older than 60 s is no matter",
        [
            *crowd(51, 60, 10),
            *crowd(51, 60, 11, first=3000),
            report(120, 1, 10),
            report(150, 1, 11),
            report(180, 1, 12, lane=4),
            balance(120, 1, 1),
            balance(300, 1, 2),
            balance(300, 99, 3),
        ],
        {"balances": [(120, 120, 1, 0), (300, 150, 2, 2), (300, 300, 3, 0)]},
        balance_at="last_notice",
    ),
    Case(
        "thesis: a credit for leaving before the accident, and today's expenditure",
        "thesis §3.2.1, §3.2.2: expressway 0 has the credit, expressway 1 nothing",
        [
            *_pair(0, 6, 12),
            report(100, 1, 10),
            report(130, 1, 10, lane=4),
            report(160, 1, 10, lane=4),
            balance(160, 1, 1),
            expenditure(160, 1, 2, day=1),
            expenditure(160, 1, 3, day=1, xway=1),
        ],
        {"balances": [(160, 130, 1, -100)], "expenditures": [(160, 2, -100), (160, 3, 0)]},
        profile=THESIS2003,
    ),
    Case(
        "thesis: one credit a trip, at its first report in lane 4",
        "thesis §3.2.1: 1 leaves twice on one trip; 2 begins its trip in lane 4; 3 left before there was an accident",
        [
            *_pair(0, 8, 12),
            report(100, 1, 10),
            report(130, 1, 10, lane=4),
            report(160, 1, 10),
            report(190, 1, 10, lane=4),
            report(130, 2, 10, lane=4),
            report(160, 2, 10, lane=4),
            report(80, 3, 10, lane=4),
            report(110, 3, 10),
            report(140, 3, 10, lane=4),
            balance(200, 1, 1),
            balance(160, 2, 2),
            balance(160, 3, 3),
        ],
        {"balances": [(160, 130, 2, -100), (160, 160, 3, 0), (200, 200, 1, -100)]},
        profile=THESIS2003,
    ),
    Case(
        "thesis: a new trip has a credit of its own",
        "thesis §3.2.1: after a gap",
        [
            *_pair(0, 8, 12),
            report(100, 1, 10),
            report(130, 1, 10, lane=4),
            report(200, 1, 10, lane=4),
            balance(210, 1, 1),
        ],
        {"balances": [(210, 200, 1, -200)]},
        profile=THESIS2003,
    ),
    Case(
        "thesis: what was charged counts over all expressways, less the credits",
        "thesis §3.2.1, §3.2.3: 2 was charged 2 and credited 1, 3 was charged 2 and pays half on the other expressway",
        [
            *crowd(151, 0, 10),
            *crowd(151, 60, 10, xway=1, first=3000),
            *_pair(0, 6, 12),
            *(report(t, vid, seg) for vid in (2, 3) for t, seg in ((60, 10), (90, 11))),
            report(120, 2, 11, lane=4),
            report(125, 2, 10, xway=1),
            report(125, 3, 10, xway=1),
            balance(130, 2, 1),
        ],
        {
            "notices": [
                (2, 60, 30, 2),
                (2, 90, -1, 0),
                (2, 125, 30, 2),
                (3, 60, 30, 2),
                (3, 90, -1, 0),
                (3, 125, 30, 1),
            ],
            "balances": [(130, 120, 1, 1)],
        },
        profile=profile("thesis2003", ftmin=2, basecredit=1),
    ),
    Case(
        "thesis: today's expenditures of vehicles with long numbers, alike in their last 48 bits",
        "thesis §3.2.2: every vehicle has its own",
        [
            *crowd(151, 60, 10),
            *(report(t, vid, seg) for vid in (5, 5 + 2**48, 2**59) for t, seg in ((120, 10), (150, 11))),
            *(expenditure(160, vid, qid, day=1) for qid, vid in enumerate((5, 5 + 2**48, 2**59, 6 + 2**48))),
        ],
        {"expenditures": [(160, 0, 2), (160, 1, 2), (160, 2, 2), (160, 3, 0)]},
        profile=THESIS2003,
    ),
    Case(
        "thesis: today never turns into tomorrow",
        "thesis §3.2.2: charged 90 s before midnight, and still today's expenditure after it",
        [*crowd(151, 86_220, 10), report(86_280, 1, 10), report(86_310, 1, 11), expenditure(86_500, 1, 1, day=1)],
        {"expenditures": [(86_500, 1, 2)]},
        profile=THESIS2003,
    ),
    Case(
        "thesis: a toll quoted before an accident is still charged",
        "thesis §3.2.1, 16: quoted at 60, the accident is there from 90 on",
        [*_pair(0, 6, 12), report(30, 2, 10, speed=30), report(60, 1, 10), report(90, 1, 11), balance(90, 1, 1)],
        {"notices": [(1, 60, 30, 44_402), (1, 90, -1, 0), (2, 30, -1, 0)], "balances": [(90, 90, 1, 44_402)]},
        profile=THESIS2003,
    ),
]

_TOLLS = [TollRow(1, 5, 0, 30), TollRow(1, 5, 1, 40), TollRow(2, 5, 0, 0)]
_ASKED = [
    expenditure(10, 1, 1, day=5),
    expenditure(10, 1, 2, day=5, xway=1),
    expenditure(10, 1, 3, day=6),
    expenditure(10, 2, 4, day=5),
    expenditure(10, 3, 5, day=5),
]

# Day 7 is weekday 7, day 1 weekday 1 and day 8 weekday 1 again.
_NIGHT = [
    SegmentRow(7, 1440, 0, 0, 10, 40, 52),
    SegmentRow(1, 1, 0, 0, 11, 30, 60),
    SegmentRow(7, 1440, 0, 1, 12, 60, 90),
    SegmentRow(1, 1, 0, 1, 11, 20, 51),
    SegmentRow(8, 1, 0, 1, 11, 0, 52),
    SegmentRow(7, 1, 0, 0, 11, 10, 0),
]

HISTORY = [
    Case(
        "daily expenditures",
        "18: an unknown key is 0",
        _ASKED,
        {"expenditures": [(10, 1, 30), (10, 2, 40), (10, 3, 0), (10, 4, 0), (10, 5, 0)]},
        tolls=_TOLLS,
    ),
    Case(
        "walmart: an unknown key has no answer",
        "18 walmart",
        _ASKED,
        {"expenditures": [(10, 1, 30), (10, 2, 40), (10, 4, 0)]},
        tolls=_TOLLS,
        profile=WALMART,
    ),
    Case(
        "a journey over midnight eastbound",
        "19: 90 s on weekday 7, then 120 s at minute 1 of weekday 1; LAV 40 is free, 2 * (60-50)² = 200",
        [travel(10, 1, 1, sinit=10, send=12, dow=7, tod=1440)],
        {"travels": [(10, 1, 210, 200)]},
        segments=_NIGHT,
    ),
    Case(
        "a journey over midnight westbound",
        "19: 60 s to midnight exactly, then 180 s; mean count 51.5 costs 4.5, rounded half up; Lav 0 is no speed",
        [travel(10, 1, 1, sinit=12, send=10, dow=7, tod=1440)],
        {"travels": [(10, 1, 240, 5)]},
        segments=_NIGHT,
    ),
    Case(
        "journeys without history and without way",
        "19: -1, -1 and 0, 0",
        [
            travel(10, 1, 1, sinit=10, send=13, dow=7, tod=1440),
            travel(10, 1, 2, sinit=10, send=11, dow=6, tod=1440),
            travel(10, 1, 3, sinit=10, send=11, dow=7, tod=1440, xway=1),
            travel(10, 1, 4, sinit=40, send=40, dow=1, tod=1),
            travel(10, 1, 5, sinit=10, send=11, dow=7, tod=1440),
        ],
        {"travels": [(10, 1, -1, -1), (10, 2, -1, -1), (10, 3, -1, -1), (10, 4, 0, 0), (10, 5, 90, 0)]},
        segments=_NIGHT,
    ),
    Case(
        "thesis: a journey includes its last segment and stays on its weekday",
        "thesis §3.2.2: 90 s, then 360 s at minute 1 of weekday 7; (0-150)² * 2",
        [travel(10, 1, 1, sinit=10, send=11, dow=7, tod=1440)],
        {"travels": [(10, 1, 450, 45_000)]},
        segments=_NIGHT,
        profile=THESIS2003,
    ),
    Case(
        "thesis: a journey within one segment is that segment, eastbound",
        "thesis §3.2.2: the sum goes from i = 0; westbound nothing is known of segment 10",
        [
            travel(10, 1, 1, sinit=10, send=10, dow=7, tod=1440),
            travel(10, 1, 2, sinit=12, send=12, dow=7, tod=1440),
        ],
        {"travels": [(10, 1, 90, 0), (10, 2, -1, -1)]},
        segments=_NIGHT,
        profile=THESIS2003,
    ),
]

CASES = [*ACCIDENTS, *TOLLS, *BALANCES, *HISTORY]
