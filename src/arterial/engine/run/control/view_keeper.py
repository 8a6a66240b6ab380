"""Decides after a step which views of `materialise="some"` are still kept: as many as the headroom allows.

A run begins with all of them. When there is more work than can be borne, the most expensive ones go: whoever connects
computes them from the connection points before them, as a view of "none". A view that went does not come back by
itself, because its table would have a gap.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from arterial.engine.plan.views import path_of, without_views
from arterial.errors import RunError
from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.network.qos import good_zone
from arterial.service.load import measure
from arterial.service.scheduling import says_what_waits, sources_of
from arterial.service.shedding.overload import allowed, overload
from arterial.service.views import Candidate, keeps, views_of_some, without

_log = logging.getLogger("arterial")


class ViewKeeper:
    """What a run knows of its views of `some`."""

    def __init__(self, cores: int, headroom: float) -> None:
        self._cores, self._headroom = cores, headroom
        self._since: float | None = None
        self._version = 0
        self._must_stay: set[str] = set()

    def next_network(self, version: int, window: Window, network: NetworkValue) -> NetworkValue | None:
        """The network without the views that there is no headroom for; None if all can stay."""
        views = [view for view in views_of_some(network) if view.name not in self._must_stay]
        if not views or not window.steps:
            return None
        if version != self._version or self._since is None:  # what was measured with another version does not count
            self._version, self._since = version, window.steps[-1].born
        last = window.steps[-1]
        load = measure(window, network, self._cores)
        if load is None or not all(says_what_waits(window, name) for name in sources_of(network)):
            return None  # a source that is read as fast as it can has no rate to keep up with
        if not overload(window, load, self._headroom).seen:
            return None
        work, capacity = load.work_by_box(), allowed(load, self._headroom) / load.stretch
        candidates = [
            Candidate(view.name, _own(network, view.name, work), kept=True, good=good_zone(view.delay))
            for view in views
        ]
        kept = keeps(candidates, capacity - sum(work.values()), last.born + last.seconds - self._since)
        gone = {name for name, stays in kept.items() if not stays and self._may_go(network, name)}
        if not gone:
            return None
        for one in candidates:
            if one.name in gone:
                _log.info(
                    "view %s: kept no longer, it needs %.3f of the %.3f seconds of a core a second that there are",
                    one.name,
                    one.cost,
                    capacity,
                )
        return without(network, gone)

    def note_refusal(self, network: NetworkValue, why: str) -> None:
        """The engine cannot go on with what was decided for this network: its views stay."""
        views = [view.name for view in views_of_some(network)]
        self._must_stay.update(views)
        _log.warning("views %s: they stay kept, although there is no headroom: %s", ", ".join(views), why)

    def _may_go(self, network: NetworkValue, view: str) -> bool:
        """Whether whoever connects could compute it: there is a connection point on every way to it."""
        try:
            path_of(network, view)
        except RunError:
            self._must_stay.add(view)
            return False
        return True


def _own(network: NetworkValue, view: str, work: Mapping[str, float]) -> float:
    """Seconds of a core a second of the boxes that only this view needs."""
    left = {box.name for box in without_views(without(network, [view])).boxes}
    return sum(seconds for name, seconds in work.items() if name not in left)
