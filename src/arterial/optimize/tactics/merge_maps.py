"""Two Maps in a row become one evaluation, if the second reads nothing that the first computes (Aurora §3)."""

from __future__ import annotations

from dataclasses import replace

from arterial.boxes.tuples.map import Map
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT
from arterial.network.expression.function import Function
from arterial.network.network import NetworkValue
from arterial.optimize.moves import is_between, joined
from arterial.optimize.names import joined_name
from arterial.optimize.tactic import Figures


def merge_maps(network: NetworkValue, figures: Figures) -> NetworkValue:
    """The network with Maps that follow each other in one.

    >>> from arterial import Network
    >>> net = Network("n")
    >>> s = net.source("s", {"time": int, "x": int}).map("a", y="x + 1").map("b", z="x * 2").output("o")
    >>> merge_maps(net.value, {}).box("a + b").columns
    (('y', 'x + 1'), ('z', 'x * 2'))
    """
    while (better := _one_merge(network)) is not None:
        network = better
    return network


def _one_merge(network: NetworkValue) -> NetworkValue | None:
    for above in network.order:
        if type(above) is not Map:
            continue
        below = network.box(network.arrivals(above)[IN].box)
        if type(below) is not Map or not is_between(network, below, above.name):
            continue
        name = joined_name(network, below.name, above.name)
        both = _both(below, above, name) if name else None
        if both is not None and (merged := joined(network, below, above, both)) is not None:
            return merged
    return None


def _both(below: Map, above: Map, name: str) -> Map | None:
    """One Map for two; None if there is none with the same columns in the same order."""
    if below.time is not None or above.time is not None:
        return None
    before, between = below.fed_by[IN], above.fed_by[IN]
    computed = {column for column, value in below.columns if not isinstance(value, Function)}
    functions = [value for _, value in (*below.columns, *above.columns) if isinstance(value, Function)]
    if functions or above.reads(between) & computed:
        return None
    mine = {column for column, _ in above.columns}
    wanted = above.streams(above.fed_by)[OUT]
    kept = wanted.schema.names
    columns = (*(pair for pair in below.columns if pair[0] not in mine and pair[0] in kept), *above.columns)
    keep = None
    if below.keep is not None or above.keep is not None:
        keep = tuple(column for column in kept if column in before.schema and column not in dict(columns))
    for candidate in (Map(name, columns, keep), Map(name, columns, tuple(n for n in kept if n in before.schema))):
        try:
            made = replace(candidate, fed_by=below.fed_by).streams(below.fed_by)[OUT]
        except NetworkError:
            continue
        if made == wanted and made.schema.names == wanted.schema.names:
            return candidate
    return None
