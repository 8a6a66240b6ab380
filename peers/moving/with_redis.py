"""Moving queries on Redis, asked again every second.

python peers/moving/with_redis.py REPORTS QUERIES ANSWERS
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import redis

DEGREES = 180.0 / (3.141592653589793 * 6372797.560856)
"""Degrees a metre on the equator, on Redis' earth."""
PIPELINE = 1_000
FIRST_RADIUS = 150.0
"""Metres in which the nearest are looked for first: mostly there are enough."""


def main(reports_file: str, queries_file: str, answers_file: str) -> None:
    """All rounds."""
    rounds = pl.read_parquet(reports_file).partition_by("second", maintain_order=True)
    queries = list(pl.read_parquet(queries_file).select("query", "nearest", "focal", "size").iter_rows())
    took = []
    with own_server() as server:
        for reports in rounds:
            began = time.perf_counter()
            move(server, reports)
            answers = ask(server, queries)
            took.append(time.perf_counter() - began)
    rows = [
        (query, int(member))
        for (query, _, focal, _), members in zip(queries, answers, strict=True)
        for member in members
        if int(member) != focal
    ]
    pl.DataFrame(rows, schema=["query", "object"], orient="row").write_parquet(answers_file)
    print(json.dumps(took))


def move(server: redis.Redis, reports: pl.DataFrame) -> None:
    """Give the objects their new places."""
    places = reports.select(pl.col("x") * DEGREES, pl.col("y") * DEGREES, "id")
    pipeline = server.pipeline(transaction=False)
    for some in places.iter_slices(PIPELINE):
        pipeline.execute_command("GEOADD", "objects", *(value for place in some.iter_rows() for value in place))
    pipeline.execute()


def ask(server: redis.Redis, queries: list[tuple[int, bool, int, float]]) -> list[list[bytes]]:
    """The answers of all queries, the focal objects among them; too few nearest are looked for farther away."""
    answers: list[list[bytes]] = [[]] * len(queries)
    radius, left = FIRST_RADIUS, list(range(len(queries)))
    while left:
        for begin in range(0, len(left), PIPELINE):
            some = left[begin : begin + PIPELINE]
            pipeline = server.pipeline(transaction=False)
            for number in some:
                _, nearest, focal, size = queries[number]
                by = ("BYRADIUS", radius, "m", "ASC", "COUNT", int(size) + 1) if nearest else ("BYBOX", size, size, "m")
                pipeline.execute_command("GEOSEARCH", "objects", "FROMMEMBER", focal, *by)
            for number, answer in zip(some, pipeline.execute(), strict=True):
                answers[number] = answer
        left = [number for number in left if queries[number][1] and len(answers[number]) <= queries[number][3]]
        radius *= 2
    return answers


@contextmanager
def own_server() -> Iterator[redis.Redis]:
    """A server on a socket in a temporary folder, which ends with this program."""
    if not (program := shutil.which("redis-server")):
        raise SystemExit("Redis is not installed here: apt-get install redis-server")
    folder = Path(tempfile.mkdtemp(prefix="moving-redis-"))
    socket = folder / "socket"
    words = [program, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while not socket.exists():
            if time.monotonic() > until or server.poll() is not None:
                raise SystemExit("Redis does not start")
            time.sleep(0.05)
        yield redis.Redis(unix_socket_path=str(socket))
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
