"""Trips: which report is a report's predecessor (rule 8; §3.2.1, the arrow over p)."""

from __future__ import annotations

from arterial.linearroad.reference.events import Event, Kept
from arterial.linearroad.semantics.city import ENTRANCE_LANE, EXIT_LANE
from arterial.linearroad.semantics.profiles import Profile


class Trips:
    """The reports of every vehicle, per expressway and direction."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._at: dict[tuple[int, int, int, int], Kept] = {}
        self._last: dict[tuple[int, int, int], Kept] = {}

    def predecessor(self, report: Event) -> Kept | None:
        """Rule 8."""
        vehicle = (report.vid, report.xway, report.dir)
        if self.profile.chain_gap is not None:
            return self._at.get((*vehicle, report.time - self.profile.chain_gap))
        last = self._last.get(vehicle)
        if last is None:
            return None
        gap = report.time - last.report.time
        if report.lane == ENTRANCE_LANE and self.profile.entrance_gap is not None and gap > self.profile.entrance_gap:
            return None
        return last

    def hidden(self, report: Event) -> bool:
        """Rule 5 of `walmart`: after lane 4 a vehicle is ignored until it comes back through lane 0."""
        if not self.profile.exit_hides_vehicle or report.lane == ENTRANCE_LANE:
            return False
        before = self._last.get((report.vid, report.xway, report.dir))
        return before is not None and before.report.lane == EXIT_LANE

    def keep(self, kept: Kept) -> None:
        """Remember a report for its successor."""
        report = kept.report
        self._at[report.vid, report.xway, report.dir, report.time] = kept
        self._last[report.vid, report.xway, report.dir] = kept


def run_of(report: Event, predecessor: Kept | None) -> int:
    """Rule 9: how many consecutive reports came from this lane and position."""
    if predecessor is None:
        return 1
    before = predecessor.report
    return predecessor.run + 1 if (before.lane, before.pos) == (report.lane, report.pos) else 1
