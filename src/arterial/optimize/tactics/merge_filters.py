"""Two Filters in a row become one, so that tuples are copied once and not twice (Aurora §3).

Only predicates that cost less than a copy are merged: comparisons, arithmetic and logic. One that is expensive stays by
itself, where `reorder` finds its place; so does one that follows a filter which leaves little.
"""

from __future__ import annotations

from arterial.boxes.tuples.filter import Filter
from arterial.network.box import IN, OUT, Box
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import Call, walk
from arterial.network.network import NetworkValue
from arterial.network.schema import Type
from arterial.optimize.moves import is_between, joined
from arterial.optimize.names import joined_name
from arterial.optimize.tactic import Figures

LEAST_SHARE = 0.1
"""Where a filter lets through less than this, the one behind it costs next to nothing as it is."""
_CHEAP = {
    "=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "neg", "is_null", "+", "-", "*", "//", "%", "abs", "coalesce",
}  # fmt: skip


def merge_filters(network: NetworkValue, figures: Figures) -> NetworkValue:
    """The network with filters that follow each other in one.

    >>> from arterial import Network
    >>> net = Network("n")
    >>> s = net.source("s", {"time": int, "x": int}).filter("low", "x > 1").filter("high", "x < 9").output("o")
    >>> merge_filters(net.value, {}).box("low + high").predicate
    '(x > 1) and (x < 9)'
    """
    while (better := _one_merge(network, figures)) is not None:
        network = better
    return network


def _one_merge(network: NetworkValue, figures: Figures) -> NetworkValue | None:
    for above in network.order:
        if not _is_cheap(above):
            continue
        below = network.box(network.arrivals(above)[IN].box)
        if not _is_cheap(below) or not is_between(network, below, above.name):
            continue
        share = figures[below.name].share(OUT) if below.name in figures else None
        if share is not None and share < LEAST_SHARE:
            continue
        assert isinstance(above, Filter)
        assert isinstance(below, Filter)
        name = joined_name(network, below.name, above.name)
        if name and (merged := joined(network, below, above, Filter(name, _both(below, above)))) is not None:
            return merged
    return None


def _both(below: Filter, above: Filter) -> str:
    return f"({below.predicate}) and ({above.predicate})"


def _is_cheap(candidate: Box) -> bool:
    """Whether it is a Filter of which only `out` is used, whose predicate costs less than a copy of the tuples."""
    if type(candidate) is not Filter or not isinstance(candidate.predicate, str) or candidate.used - {OUT}:
        return False
    tree = predicate(candidate.predicate, candidate.fed_by[IN].schema)
    return all(_costs_little(part) for part in walk(tree) if isinstance(part, Call))


def _costs_little(call: Call) -> bool:
    if call.function == "cast":
        return Type.STRING not in (call.type, call.arguments[0].type)
    return call.function in _CHEAP
