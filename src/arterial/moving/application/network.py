"""The network of a file of events: its reports and its queries' events meet in one box of moving queries."""

from __future__ import annotations

from dataclasses import dataclass

from arterial.boxes.ends.output import Output
from arterial.boxes.ends.source import Source
from arterial.boxes.tuples.group_by import GroupBy
from arterial.drawing import Network, StreamHandle
from arterial.moving.application.prepare import OBJECTS, QUERIES, Prepared
from arterial.moving.boxes.moving_queries import UNCERTAINTY, MovingQueries
from arterial.moving.queries.space import Space
from arterial.network.box import OUT
from arterial.network.network import NetworkValue, Port

UPDATES = "updates"


@dataclass(frozen=True)
class QueryOptions:
    """What all queries have in common; see `MovingQueries`."""

    space: Space = Space.PLANE
    timeout: float | None = None
    cache: float = 100.0
    longest_step: float | None = None


def moving_network(events: Prepared, options: QueryOptions, *, spread: bool = False) -> NetworkValue:
    """The network; where the cache is below 100 per cent it also tells the uncertainty.

    With `spread` the queries are spread over the shards, and their changes brought together again.
    """
    network = Network("moving")
    sources = {name: network.box(Source(name, events.schema(name), "t")) for name in (OBJECTS, QUERIES)}
    if spread:
        sources[QUERIES] = network.box(GroupBy("by_query", ("query",)), **{"in": sources[QUERIES]})
    box = MovingQueries(
        "moving",
        lonlat=options.space is Space.LONLAT,
        timeout=options.timeout,
        cache=options.cache,
        longest_step=options.longest_step,
        ticks=events.ticks,
    )
    network.box(box, **sources)
    updates = StreamHandle(network, Port("moving", OUT))
    if spread:
        updates = network.box(GroupBy("together", ()), **{"in": updates})
    network.box(Output(UPDATES), **{"in": updates})
    if options.cache < 100:
        network.box(Output(UNCERTAINTY), **{"in": StreamHandle(network, Port("moving", UNCERTAINTY))})
    return network.value
