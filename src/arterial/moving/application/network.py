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
from arterial.network.duration import LONGEST, Duration, units
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Type

UPDATES = "updates"
KEPT_OBJECTS, KEPT_QUERIES, KEPT_UPDATES = "kept_objects", "kept_queries", "kept_updates"


@dataclass(frozen=True)
class QueryOptions:
    """What all queries have in common; see `MovingQueries`."""

    space: Space = Space.PLANE
    timeout: float | None = None
    cache: float = 100.0
    longest_step: float | None = None


def moving_network(
    events: Prepared, options: QueryOptions, keep: Duration | None = None, *, spread: bool = False
) -> NetworkValue:
    """The network; where the cache is below 100 per cent it also reports the uncertainty.

    With `keep`, the connection points `kept_objects` and `kept_updates` keep that much, and `kept_queries` all queries,
    for ad-hoc queries and the studio. With `spread` the queries are spread over the shards, and each reports the
    changes of its own.
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
    network.box(Output(UPDATES), **{"in": updates})
    if keep is not None:
        retention = units(keep, Type.INT64, "--keep") * events.ticks
        sources[OBJECTS].connection_point(KEPT_OBJECTS, retention, ["object"])
        # A query stands until it is dropped, however long ago it came.
        sources[QUERIES].connection_point(KEPT_QUERIES, LONGEST)
        updates.connection_point(KEPT_UPDATES, retention, ["query"])
    if options.cache < 100:
        network.box(Output(UNCERTAINTY), **{"in": StreamHandle(network, Port("moving", UNCERTAINTY))})
    return network.value
