"""Networks of queries: what is drawn, that both engines agree on it, and that it goes to JSON and back."""

from __future__ import annotations

import pytest

from arterial.drawing import Network
from arterial.errors import NetworkError
from arterial.sql import Catalog, StreamEntry, compile_sql
from arterial.testing import check_network
from tests.seeds import seeds
from tests.sql.worlds import CATALOG, random_world

JOINED = """
SELECT F.owner, count(*) AS n, sum(M.speed) FROM MovingObjects M JOIN Cars F ON F.ObjectID = M.ObjectID, States S
WHERE S.id = M.ObjectID AND S.state = "free" AND M.speed > 40 GROUP BY F.owner
GPAC-IN ('M', 2, 12, 12) GPAC-kNN (M, 3, 4)
"""
QUERIES = [
    "SELECT ObjectID FROM MovingObjects WHERE type = 'truck' GPAC-IN (-4, 4, 4, -4)",
    "SELECT * FROM MovingObjects GPAC-kNN ('M', 2, 4)",
    "SELECT DISTINCT type FROM MovingObjects WHERE speed > 50 GPAC-kNN (3, 0, 0)",
    "SELECT A.t, B.ObjectID FROM MovingObjects A, MovingObjects B WHERE A.type = B.type AND A.ObjectID < B.ObjectID",
    JOINED,
]


def kinds(text: str) -> list[str]:
    return [box.kind for box in compile_sql(text, CATALOG).value.boxes]


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("seed", seeds(3))
def test_both_engines_agree(text: str, seed: int) -> None:
    world = random_world(seed, instants=8, objects=6)
    net = compile_sql(text, CATALOG, timeout=world.timeout)
    rows = {**world.rows, "Cars": [{"loaded": 0, **row} for row in world.rows["Cars"]]}
    sources = {box.name for box in net.value.boxes if not box.inputs}
    check_network(net, {name: rows[name] for name in sources}, tries=3, seed=seed)


@pytest.mark.parametrize("text", QUERIES)
def test_to_json_and_back(text: str) -> None:
    net = compile_sql(text, CATALOG, timeout="1 minute")
    assert Network.from_json(net.to_json()).value == net.value


def test_range_at_the_bottom_nearest_on_top() -> None:
    assert kinds("SELECT ObjectID FROM MovingObjects WHERE speed > 1 GPAC-IN (0, 0, 1, 1)") == [
        "source", "map", "gpac_in", "map", "filter", "map", "net", "output",
    ]  # fmt: skip
    assert kinds("SELECT ObjectID FROM MovingObjects WHERE speed > 1 GPAC-kNN (1, 0, 0)")[2:5] == [
        "latest", "filter", "gpac_knn",
    ]  # fmt: skip
    joined = kinds("SELECT owner FROM MovingObjects M, Cars F WHERE M.ObjectID = F.ObjectID GPAC-kNN (1, 0, 0)")
    assert [kind for kind in joined if kind in ("match", "distinct", "gpac_knn")] == [
        "match", "distinct", "gpac_knn", "match",
    ]  # fmt: skip


def test_names_of_sources_and_of_the_answer() -> None:
    net = compile_sql(
        "SELECT objectid, t, x * 2, max(SPEED) FROM movingobjects GROUP BY 1 + objectid, objectid, t, x", CATALOG
    )
    assert {box.name for box in net.value.boxes if not box.inputs} == {"MovingObjects"}
    stream = net.value.box("answer").fed_by["in"]
    assert stream.schema.names == ("at", "sign", "ObjectID", "t", "column_3", "max_speed")
    assert stream.signed


def test_mistakes_of_settings() -> None:
    text = "SELECT ObjectID FROM MovingObjects GPAC-IN (0, 0, 200, 10)"
    with pytest.raises(NetworkError, match="timeout"):
        compile_sql(text, CATALOG, timeout="soon")
    with pytest.raises(NetworkError, match="latitude"):
        compile_sql(text.replace("10)", "100)"), CATALOG, lonlat=True)
    with pytest.raises(NetworkError, match="column for the time"):
        StreamEntry.of({"a": int})
    with pytest.raises(NetworkError, match="no column 'z'"):
        StreamEntry.of({"t": int}, x="z")
    assert Catalog({}).areas == {}
