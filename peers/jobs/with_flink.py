"""The five jobs in Flink SQL, by PyFlink: `with_flink.py JOB INPUT.parquet OUTPUT.csv [POLYGONS.json]`.

The package has no connector for Parquet, so the input becomes a CSV file first. Parallelism is 1: a file that is
read by two tasks would be out of order, and what one reads for two is spread over both before it is grouped. Input and
output may also be topics, `kafka://SERVER/TOPIC`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from live import FIELDS, JARS, topic_of
from places import Polygons, events
from pyarrow import csv
from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import FunctionContext, ScalarFunction, TableFunction, udf, udtf

SECONDS = "TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', {})"
LAST = SECONDS.format("window_end") + " - 1"
JOBS = {
    "averages": (
        "sensor BIGINT, `time` BIGINT, mean DOUBLE",
        f"""
        SELECT m.sensor, m.`time`, m.mean FROM (
            SELECT sensor, {LAST} AS `time`, AVG(CAST(`value` AS DOUBLE)) AS mean
            FROM HOP(TABLE tuples, DESCRIPTOR(moment), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES)
            GROUP BY sensor, window_start, window_end
        ) m JOIN limits l ON l.sensor = m.sensor WHERE m.mean > l.most
        """,
    ),
    "sessions": (
        "`user` BIGINT, `time` BIGINT, n BIGINT, spent BIGINT, since BIGINT",
        """
        SELECT `user`, MAX(`time`), COUNT(*), SUM(spent), MIN(`time`)
        FROM SESSION(TABLE tuples PARTITION BY `user`, DESCRIPTOR(moment), INTERVAL '30.5' SECOND)
        GROUP BY `user`, window_start, window_end
        """,
    ),
    "visits": (
        "`time` BIGINT, `object` BIGINT, fence STRING, event STRING",
        """
        SELECT `time`, `object`, fence, event FROM (
            SELECT `time`, `object`, inside, LAG(inside) OVER (PARTITION BY `object` ORDER BY {order}) AS outside
            FROM (SELECT `time`, {order}, `object`, around(x, y) AS inside FROM tuples)
        ), LATERAL TABLE(moved(outside, inside)) AS moves(fence, event)
        """,
    ),
    "leaders": (
        "`time` BIGINT, page BIGINT, hits BIGINT, `rank` BIGINT",
        f"""
        SELECT {LAST}, page, hits, `rank` FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY hits DESC, page) AS `rank`
            FROM (
                SELECT page, window_start, window_end, COUNT(*) AS hits
                FROM TUMBLE(TABLE tuples, DESCRIPTOR(moment), INTERVAL '1' MINUTE)
                GROUP BY page, window_start, window_end
            )
        ) WHERE `rank` <= 10
        """,
    ),
    "firsts": (
        "`time` BIGINT, id BIGINT, `value` BIGINT",
        """
        SELECT `time`, id, `value` FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY arrived) AS number FROM tuples
        ) WHERE number = 1
        """,
    ),
}
SETTINGS = {
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
    "table.exec.state.ttl": "1 d",
    "pipeline.object-reuse": "true",
    # All is on one machine, which may be stopped for a while.
    "heartbeat.timeout": "10 min",
}
LIVE_SETTINGS = {
    "execution.buffer-timeout.interval": "1 ms",
    "pipeline.auto-watermark-interval": "10 ms",
    "python.fn-execution.bundle.time": "10",
}
FILES = "'connector' = 'filesystem', 'format' = 'csv', 'csv.disable-quote-character' = 'true'"
KINDS = {"int64": "BIGINT", "double": "DOUBLE"}


class Around(ScalarFunction):
    """The numbers of the polygons that a point is in, as text."""

    def __init__(self, file: str) -> None:
        self.file = file

    def open(self, function_context: FunctionContext) -> None:
        """Read the polygons."""
        self.polygons = Polygons(self.file)

    def eval(self, x: float, y: float) -> str:
        """For one point."""
        return " ".join(map(str, self.polygons.around(x, y)))


class Moved(TableFunction):
    """Which polygons were entered and left."""

    def eval(self, before: str | None, now: str) -> Iterator[Row]:
        """Between two reports of an object."""
        if before != now:
            for fence, event in events(_numbers(before), _numbers(now)):
                yield Row(fence, event)


def _numbers(text: str | None) -> frozenset[int]:
    return frozenset(map(int, text.split())) if text else frozenset()


def main() -> None:
    """One job from its file or topic to its answers."""
    job, source, target = sys.argv[1:4]
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    come, go = topic_of(source), topic_of(target)
    with tempfile.TemporaryDirectory(prefix="with-flink-") as scratch:
        Path(scratch, "limits.csv").write_text("".join(f"{sensor},{sensor % 100}\n" for sensor in range(2000)))
        flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for name, value in {**SETTINGS, **(LIVE_SETTINGS if come else {})}.items():
            flink.get_config().set(name, value)
        flink.get_config().set("python.executable", sys.executable)
        if come:
            flink.get_config().set("pipeline.jars", next(JARS.glob("flink-*.jar")).as_uri())
            begin = "'scan.startup.mode' = 'earliest-offset', 'properties.fetch.max.wait.ms' = '10'"
            columns, reader = FIELDS[job], f"{_topic(come)}, {begin}"
        else:
            columns, reader = _from_file(source, f"{scratch}/in.csv")
        layout = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
        flink.execute_sql(f"""CREATE TABLE tuples (
            {layout}, moment AS TO_TIMESTAMP_LTZ(`time`, 0), arrived AS PROCTIME(),
            WATERMARK FOR moment AS moment - INTERVAL '0.001' SECOND
        ) WITH ({reader})""")
        flink.execute_sql(
            f"CREATE TABLE limits (sensor BIGINT, most BIGINT) WITH ({FILES}, 'path' = '{scratch}/limits.csv')"
        )
        if job == "visits":
            around = udf(Around(str(Path(sys.argv[4]).absolute())), result_type=DataTypes.STRING())
            flink.create_temporary_function("around", around)
            kinds = [DataTypes.STRING(), DataTypes.STRING()]
            flink.create_temporary_function("moved", udtf(Moved(), result_types=kinds))
        layout, query = JOBS[job]
        writer = _topic(go) if go else f"{FILES}, 'path' = '{scratch}/out'"
        flink.execute_sql(f"CREATE TABLE answers ({layout}) WITH ({writer})")
        # Live, an object's reports are in order as they arrive, and need not wait for the watermark.
        query = query.replace("{order}", "arrived" if come else "moment")
        flink.execute_sql(f"INSERT INTO answers {query}").wait()
        parts = sorted(part for part in Path(scratch, "out").rglob("*") if part.is_file())
        Path(target).write_bytes(b"".join(part.read_bytes() for part in parts))


def _topic(place: tuple[str, str]) -> str:
    server, topic = place
    return f"'connector' = 'kafka', 'format' = 'json', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{server}'"


def _from_file(source: str, text: str) -> tuple[dict[str, str], str]:
    """The file as CSV: its columns with their types, and how it is read."""
    tuples = pq.read_table(source)
    csv.write_csv(tuples, text, csv.WriteOptions(include_header=False))
    return {one.name: KINDS[str(one.type)] for one in tuples.schema}, f"{FILES}, 'path' = '{text}'"


if __name__ == "__main__":
    main()
