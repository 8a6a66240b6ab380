"""Profile `spec` of Linear Road over a whole list of reports at once, in plain Python: slow, and plain to see right."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import NamedTuple


class Report(NamedTuple):
    """A position report."""

    time: int
    vid: int
    speed: int
    xway: int
    lane: int
    dir: int
    seg: int
    pos: int


class Model:
    """Every answer that the reports call for."""

    def __init__(self, reports: list[Report]) -> None:
        self.reports = reports
        self.at = {(r.vid, r.xway, r.dir, r.time): r for r in reports}
        self.notices: list[tuple[int, int, int, int]] = []
        self.alerts: list[tuple[int, int, int, int, int]] = []
        self.charges: list[tuple[int, int, int]] = []
        self.speeds: dict[tuple[int, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for r in reports:
            self.speeds[r.xway, r.dir, r.seg, r.time // 60 + 1][r.vid].append(r.speed)
        self.accidents = self._accidents()
        self.quotes: dict[tuple[int, ...], int] = {}
        for r in reports:
            self._enter_and_leave(r)

    def before(self, r: Report) -> Report | None:
        """The predecessor."""
        return self.at.get((r.vid, r.xway, r.dir, r.time - 30))

    def lav(self, xway: int, direction: int, seg: int, minute: int) -> int:
        """The latest average velocity."""
        means = []
        for m in range(minute - 5, minute):
            vehicles = self.speeds.get((xway, direction, seg, m))
            if vehicles:
                means.append(sum(Fraction(sum(v), len(v)) for v in vehicles.values()) / len(vehicles))
        return int(sum(means) // len(means)) if means else -1

    def ahead(self, r: Report) -> int | None:
        """The segment of the nearest accident in range."""
        for i in range(5):
            seg = r.seg + i if r.dir == 0 else r.seg - i
            if (r.xway, r.dir, seg, r.time // 60) in self.accidents:
                return seg
        return None

    def _accidents(self) -> set[tuple[int, ...]]:
        stopped: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for r in self.reports:
            run, p = 1, r
            while (q := self.before(p)) is not None and (q.lane, q.pos) == (r.lane, r.pos):
                run, p = run + 1, q
            if run >= 4 and r.lane in (1, 2, 3):
                for second in range(r.time, r.time + 30):
                    stopped[r.xway, r.dir, r.lane, r.pos, second].add(r.vid)
        return {(x, d, pos // 5280, t // 60 + 1) for (x, d, _, pos, t), who in stopped.items() if len(who) > 1}

    def _enter_and_leave(self, r: Report) -> None:
        key, p = (r.vid, r.xway, r.dir, r.time), self.before(r)
        if p is not None and p.seg == r.seg:
            self.quotes[key] = self.quotes[r.vid, r.xway, r.dir, r.time - 30]
            return
        if p is not None and (due := self.quotes[r.vid, r.xway, r.dir, r.time - 30]) > 0:
            self.charges.append((r.vid, r.time, due))
        self.quotes[key] = 0
        if r.lane == 4:
            return
        minute = r.time // 60 + 1
        lav, ahead = self.lav(r.xway, r.dir, r.seg, minute), self.ahead(r)
        cars = len(self.speeds.get((r.xway, r.dir, r.seg, minute - 1), ()))
        if lav < 40 and cars > 50 and ahead is None:
            self.quotes[key] = 2 * (cars - 50) ** 2
        self.notices.append((r.vid, r.time, lav, self.quotes[key]))
        if ahead is not None:
            self.alerts.append((r.time, r.vid, r.xway, ahead, r.dir))

    def balance(self, vid: int, time: int) -> tuple[int, int]:
        """Result time and balance of a request."""
        mine = [(t, toll) for v, t, toll in self.charges if v == vid and t <= time]
        last = max((t for t, _ in mine), default=-1000)
        return (last if time - last <= 60 else time), sum(toll for _, toll in mine)
