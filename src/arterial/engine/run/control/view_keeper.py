"""Decides after a step which views of `materialise="some"` are kept: as many as the headroom allows.

A run begins with all of them. When there is more work than can be borne, the most expensive ones go: whoever connects
computes them from the connection points before them, as a view of "none". When there is room again a view comes back.
Its table then begins again with what the connection points keep, so it has no gap.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from arterial.engine.plan.views import path_of, with_views, without_views
from arterial.errors import RunError
from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.network.qos import good_zone
from arterial.service.load import allowed, arrival_rate, measure
from arterial.service.scheduling import says_what_waits
from arterial.service.shedding.overload import overload
from arterial.service.views import Candidate, keeps, views_of_some, without

_log = logging.getLogger("arterial")

CALM_SECONDS = 30.0
"""For so long there must have been room for a view before it comes back; twice as long each time that it went."""
UNKNOWN_SHARE = 0.5
"""A view whose cost is not known, since it went before the run was resumed, comes back below this share of what can be
borne."""


@dataclass
class _Gone:
    """A view that went."""

    cost: float | None
    """Seconds of a core for each tuple that the sources give."""
    calm: float = CALM_SECONDS
    fits_since: float | None = None


class ViewKeeper:
    """What a run knows of its views of `some`. `declared` is its network with all of them."""

    def __init__(self, cores: int, headroom: float, declared: NetworkValue, running: NetworkValue) -> None:
        self._cores, self._headroom, self._whole = cores, headroom, declared
        self._since: float | None = None
        self._version = 0
        self._must_stay: set[str] = set()
        self._gone = {name: _Gone(None) for name in gone_views(declared, running)}
        self._calm: dict[str, float] = {}

    def next_network(self, version: int, window: Window, network: NetworkValue) -> NetworkValue | None:
        """The network without the views that there is no headroom for, or with one that there is room for again; None
        if all stays as it is."""
        views = [view for view in views_of_some(network) if view.name not in self._must_stay]
        if not (views or self._gone) or not window.steps:
            return None
        if version != self._version or self._since is None:  # what was measured with another version does not count
            self._version, self._since = version, window.steps[-1].born
            for lost in self._gone.values():
                lost.fits_since = None
        last = window.steps[-1]
        load = measure(window, network, self._cores)
        if load is None or not all(says_what_waits(window, name) for name in network.source_names):
            return None  # a source that is read as fast as it can has no rate to keep up with
        capacity, now = allowed(load, self._headroom) / load.stretch, last.born + last.seconds
        found = overload(window, load, self._headroom)
        if not found.seen:
            return self._more(network, capacity, found.lately, _arriving(window, network), now) if self._gone else None
        for lost in self._gone.values():
            lost.fits_since = None
        work = load.work_by_box()
        candidates = [
            Candidate(view.name, _own(network, view.name, work), kept=True, good=good_zone(view.delay))
            for view in views
        ]
        kept = keeps(candidates, capacity - sum(work.values()), now - self._since)
        gone = {name for name, stays in kept.items() if not stays and self._may_go(network, name)}
        if not gone:
            return None
        for one in candidates:
            if one.name in gone:
                self._note_gone(network, one, window)
                _log.info(
                    "view %s: kept no longer, it needs %.3f of the %.3f seconds of a core a second that there are",
                    one.name,
                    one.cost,
                    capacity,
                )
        return without(network, gone)

    def note_refusal(self, network: NetworkValue, why: str) -> None:
        """The engine cannot go on with what was decided for this network: its views stay as they are."""
        views = [view.name for view in views_of_some(network)]
        self._must_stay.update(views)
        gone = [name for name in self._gone if name not in views]
        self._gone.clear()
        _log.warning("views %s: they stay as they are: %s", ", ".join([*views, *gone]), why)

    def _note_gone(self, network: NetworkValue, view: Candidate, window: Window) -> None:
        if self._whole.name != network.name or view.name not in {box.name for box in self._whole.boxes}:
            self._whole = network  # it came with another version
        arriving = _arriving(window, network)
        calm = self._calm[view.name] = 2 * self._calm.get(view.name, CALM_SECONDS / 2)
        self._gone[view.name] = _Gone(view.cost / arriving if arriving else None, calm)

    def _more(
        self, network: NetworkValue, capacity: float, work: float, arriving: float, now: float
    ) -> NetworkValue | None:
        """The network with the cheapest view that went, if there has been room for it long enough."""
        for name, one in sorted(self._gone.items(), key=lambda item: (item[1].cost is None, item[1].cost, item[0])):
            spare = capacity - work
            if one.cost is None:
                fits = work <= UNKNOWN_SHARE * capacity
            else:
                fits = keeps([Candidate(name, one.cost * arriving, kept=False)], spare, now - (self._since or now))[
                    name
                ]
            if not fits:
                one.fits_since = None
                continue
            one.fits_since = now if one.fits_since is None else one.fits_since
            if now - one.fits_since < one.calm:
                continue
            del self._gone[name]
            more = with_views(network, self._whole, [name])
            if more is None:
                _log.info("view %s: it does not come back: another version of the network has no place for it", name)
                continue
            _log.info("view %s: kept again, %.3f seconds of a core a second are spare", name, spare)
            return more
        return None

    def _may_go(self, network: NetworkValue, view: str) -> bool:
        """Whether whoever connects could compute it: there is a connection point on every way to it."""
        try:
            path_of(network, view)
        except RunError:
            self._must_stay.add(view)
            return False
        return True


def gone_views(declared: NetworkValue, running: NetworkValue) -> list[str]:
    """The views of `some` of a declared network that the one that runs does without."""
    there = {box.name for box in running.boxes}
    return [view.name for view in views_of_some(declared) if view.name not in there]


def _arriving(window: Window, network: NetworkValue) -> float:
    return sum(arrival_rate(window.steps, name) for name in network.source_names)


def _own(network: NetworkValue, view: str, work: Mapping[str, float]) -> float:
    """Seconds of a core a second of the boxes that only this view needs."""
    left = {box.name for box in without_views(without(network, [view])).boxes}
    return sum(seconds for name, seconds in work.items() if name not in left)
