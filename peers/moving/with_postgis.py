"""Moving queries on PostGIS, asked again every second.

python peers/moving/with_postgis.py REPORTS QUERIES ANSWERS
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import polars as pl
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "postgres"))

from server import own_server

SCHEMA = """
CREATE EXTENSION postgis;
CREATE UNLOGGED TABLE objects (id int PRIMARY KEY, place geometry);
CREATE UNLOGGED TABLE came (id int, x float8, y float8);
CREATE UNLOGGED TABLE queries (query int PRIMARY KEY, nearest bool, focal int, size float8);
"""
MOVE = """
TRUNCATE objects;
DROP INDEX IF EXISTS places;
INSERT INTO objects SELECT id, ST_MakePoint(x, y) FROM came;
CREATE INDEX places ON objects USING gist (place);
ANALYZE objects;
TRUNCATE came;
"""
RANGES = """
SELECT query, o.id FROM queries q JOIN objects f ON f.id = q.focal
JOIN objects o ON o.place && ST_Expand(f.place, q.size / 2) AND o.id <> q.focal WHERE NOT q.nearest
"""
NEAREST = """
SELECT query, o.id FROM queries q JOIN objects f ON f.id = q.focal
CROSS JOIN LATERAL (SELECT id FROM objects WHERE id <> q.focal ORDER BY place <-> f.place LIMIT q.size::int) o
WHERE q.nearest
"""


def main(reports_file: str, queries_file: str, answers_file: str) -> None:
    """All rounds."""
    rounds = pl.read_parquet(reports_file).partition_by("second", maintain_order=True)
    took = []
    with own_server() as uri, psycopg.connect(uri, autocommit=True) as server:
        server.execute(SCHEMA)
        copy(server, "queries", pl.read_parquet(queries_file).select("query", "nearest", "focal", "size"))
        server.execute("ANALYZE queries")
        for reports in rounds:
            began = time.perf_counter()
            copy(server, "came", reports.select("id", "x", "y"))
            server.execute(MOVE)
            answers = [row for asked in (RANGES, NEAREST) for row in server.execute(asked, binary=True).fetchall()]
            took.append(time.perf_counter() - began)
    pl.DataFrame(answers, schema=["query", "object"], orient="row").write_parquet(answers_file)
    print(json.dumps(took))


def copy(server: psycopg.Connection, table: str, rows: pl.DataFrame) -> None:
    """Add rows to a table, by COPY."""
    with server.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as target:
        target.write(rows.write_csv(include_header=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
