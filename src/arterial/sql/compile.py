"""Text to network: `compile_sql`."""

from __future__ import annotations

from arterial.drawing import Network
from arterial.network.duration import Duration
from arterial.sql.catalog import Catalog
from arterial.sql.checked import check_query
from arterial.sql.draw import Settings, draw
from arterial.sql.text.parse import parse_query, readable_depth


def compile_sql(
    text: str,
    catalog: Catalog,
    *,
    name: str = "query",
    timeout: Duration | None = None,
    lonlat: bool = False,
    cache: float = 100.0,
) -> Network:
    """The network of a query. Its sources are named as in the catalog, its output is `answer`, a signed stream.

    An object that is silent for `timeout` is gone. With `lonlat`, x and y are degrees and distances metres. A table's
    source has one column more, `loaded`, its time: let all rows come at or before the first report.

    >>> from arterial.sql import Catalog, StreamEntry
    >>> cars = StreamEntry.of({"t": int, "id": int, "x": float, "y": float, "kind": str})
    >>> net = compile_sql("SELECT id FROM Cars WHERE kind = 'taxi' GPAC-kNN (5, 0, 0)", Catalog({"Cars": cars}))
    >>> [box.kind for box in net.value.boxes]
    ['source', 'map', 'latest', 'filter', 'gpac_knn', 'map', 'map', 'net', 'output']
    """
    with readable_depth(text):
        return draw(check_query(parse_query(text), catalog), name, Settings(timeout, lonlat, cache))
