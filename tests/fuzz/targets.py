"""What reads input from outside, each as a function of bytes. It raises only if there is a defect of ours.

A target may let an `ArterialError` pass: that is how the project says that its input is wrong. What else it asserts
is that nothing is lost or invented: every line is a row, a reject, blank, or the header.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from arterial.connectors.files.blocks import Block, Place, Reading, read_blocks
from arterial.connectors.files.find import data_file
from arterial.connectors.files.inspection import inspect_file
from arterial.connectors.live.lines import LineFormat, LineReader
from arterial.connectors.values import TimeOptions
from arterial.drawing import Network
from arterial.engine.steering.control import CONTROL_FILE, read_control
from arterial.errors import ArterialError, DataError
from arterial.linearroad.data.cleaning import Cleaner
from arterial.moving.files.event_file import read_events
from arterial.network.expression.parser import parse
from arterial.network.schema import Schema
from arterial.network.serial import from_json, to_json
from arterial.sql import Catalog, StreamEntry, TableEntry, compile_sql

SCHEMA = Schema.of({"time": int, "id": int, "speed": float, "name": str, "on": bool})


@dataclass(frozen=True)
class Target:
    """A function of bytes, and inputs to begin with."""

    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]

    def survives(self, data: bytes) -> None:
        """Run it; a mistake of the input is none of ours."""
        with suppress(ArterialError):
            self.run(data)


def _expression(data: bytes) -> None:
    parse(data.decode("utf-8", "replace"), SCHEMA)


def _network_json(data: bytes) -> None:
    network = from_json(data.decode("utf-8", "replace"))
    assert from_json(to_json(network)) == network


def _sql(data: bytes) -> None:
    cars = StreamEntry.of({"t": int, "id": int, "x": float, "y": float, "kind": str})
    places = TableEntry.of({"kind": str, "label": str})
    compile_sql(data.decode("utf-8", "replace"), Catalog({"Cars": cars}, {"Places": places}))


def _csv(data: bytes) -> None:
    _read_file(data, "input.csv")


def _json_lines(data: bytes) -> None:
    blocks = _read_file(data, "input.jsonl")
    judged = sum(block.rows.height + len(block.rejects) for block in blocks)
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip(b" \t\r")]
    assert judged == len(lines), f"{judged} of {len(lines)} lines were judged"


def _parquet(data: bytes) -> None:
    _read_file(data, "input.parquet")


def _inspect(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("input.csv", "input.jsonl"):
            path = Path(folder) / name
            path.write_bytes(data)
            with suppress(DataError):
                str(inspect_file(path))


def _live(data: bytes) -> None:
    """However a connection cuts its lines, the same rows and rejects come of them."""
    assert _through_live(data, len(data) or 1) == _through_live(data, 7)


def _driver_lines(data: bytes) -> None:
    whole, cut = Cleaner(), Cleaner()
    once = [whole.feed(data), whole.finish()]
    parts = [cut.feed(data[at : at + 11]) for at in range(0, len(data), 11)] + [cut.finish()]
    for cleaner, pieces in ((whole, once), (cut, parts)):
        judged = sum(piece.events.num_rows + len(piece.rejects) for piece in pieces)
        assert judged + cleaner.blank == cleaner.lines, f"{judged} judged, {cleaner.blank} blank, {cleaner.lines} lines"
    assert sum(piece.events.num_rows for piece in once) == sum(piece.events.num_rows for piece in parts)


def _moving_events(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.csv"
        path.write_bytes(data)
        for block in read_events(path):
            assert len(block.times) + len(block.queries) + len(block.rejects) <= block.lines


def _control(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / CONTROL_FILE).write_bytes(data)
        control = read_control(Path(folder))
        assert isinstance(control.paused, bool)
        assert all(isinstance(number, int) for number in (control.steps, control.version, control.stop))


def _read_file(data: bytes, name: str) -> list[Block]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        file = data_file(path)
        blocks = list(read_blocks(file, Reading(SCHEMA, TimeOptions()), Place()))
    for block in blocks:
        assert block.rows.columns == list(SCHEMA.names), block.rows.columns
    return blocks


def _through_live(data: bytes, size: int) -> tuple[list[tuple[object, ...]], list[str]]:
    reader = LineReader("input", LineFormat(SCHEMA))
    rows: list[tuple[object, ...]] = []
    reasons: list[str] = []
    for at in range(0, len(data), size):
        block, over = reader.feed(data[at : at + size])
        rows += block.rows.rows()
        reasons += [f"{reject.line}: {reject.reason}" for reject in block.rejects]
        if over:
            break
    else:
        reasons += [f"{reject.line}: {reject.reason}" for reject in reader.finish()]
    return [tuple(map(repr, row)) for row in rows], reasons


def _example_network() -> bytes:
    net = Network("speeding")
    reports = net.source("reports", {"time": int, "id": int, "speed": float, "name": str})
    fast = reports.filter("fast", "speed > 100 AND name LIKE 'a%'")
    fast.group_by("id").slide("mean", over=60, every=10, speed="avg(speed)").output("means")
    fast.map("shown", id="id", twice="speed * 2").output("alerts")
    return to_json(net.value).encode()


def _example_parquet() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.parquet"
        columns = {"time": [1, 2, 3], "id": [7, 8, 9], "speed": [1.5, None, 3.0], "name": ["a", "ü", None]}
        pl.DataFrame({**columns, "on": [True, False, None]}).write_parquet(path)
        return path.read_bytes()


_CSV = b'time,id,speed,name,on\n1,7,1.5,abc,true\n2,8,,"with, comma",false\n3,9,1e3,"two\nlines",\n'
_JSON_LINES = b'{"time": 1, "id": 7, "speed": 1.5, "name": "a\\u00fc", "on": true}\n{"time": 2, "id": null}\n\n[1]\n'
_ODD_CSV = b'time,id,speed,name,on\n1,"",1.5,"",true\n2, ,,a"b,\n3,+9, 1 ,"" x,\n4,x,2.0,"",""\n'
_ODD_JSON_LINES = (
    b'{"time": 1.0, "id": 7, "id": 8, "name": 1.50}\n{"time": 2, "speed": NaN, "name": "\\ud83d\\ude00"}\n'
    b'{"time": 3, "speed": 1e400}\n{"time": 4, "name": {"a": 1.0, "b": "\\u00fc"}}\n{"time": 5, "name": "\\ud800"}\n'
    b'{"time": "", "id": -0, "speed": 1E5}\nnull\n\xef\xbb\xbf{"time": 6}\n'
)
_DRIVER = (
    b"0,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1\n"
    b"2,31,7,-1,-1,-1,-1,-1,-1,5,-1,-1,-1,-1,-1\n"
    b"4,31,8,-1,0,-1,-1,-1,-1,6,10,20,3,480,-1\n"
)

TARGETS: Mapping[str, Target] = {
    "expression": Target(
        _expression,
        (
            b"speed > 100 AND NOT on OR name LIKE 'a%' ESCAPE '!'",
            b"CASE WHEN id IN (1, 2, NULL) THEN round(speed, 2) ELSE CAST(name AS DOUBLE) END",
            b"regexp_matches(name, '^a.*') AND date_trunc('minute', make_timestamp(time)) < TIMESTAMP '2026-01-01'",
            b"substr(name, -1, 2) || upper(name) = coalesce(name, 'x')",
        ),
    ),
    "network_json": Target(_network_json, (_example_network(),)),
    "sql": Target(
        _sql,
        (
            b"SELECT id, x + 1 AS east FROM Cars WHERE kind = 'taxi' GPAC-kNN (5, 0, 0)",
            b"SELECT kind, count(*) AS n FROM Cars GROUP BY kind",
            b"SELECT kind, avg(x) AS mean FROM TUMBLE(Cars, '10 s') GROUP BY kind ORDER BY mean DESC LIMIT 3",
            b"SELECT c.id, p.label FROM Cars c JOIN Places p ON c.kind = p.kind GPAC-IN (0, 0, 10, 10)",
        ),
    ),
    "csv": Target(_csv, (_CSV, _CSV.replace(b",", b";").replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + _CSV)),
    "json_lines": Target(_json_lines, (_JSON_LINES,)),
    "parquet": Target(_parquet, (_example_parquet(),)),
    "inspect": Target(_inspect, (_CSV, _JSON_LINES, b"2026-03-01T06:00:00Z,1\n2026-03-01T06:00:01+02:00,2\n")),
    "live": Target(_live, (_CSV, _JSON_LINES, _CSV + b"#end\n", _ODD_CSV, _ODD_JSON_LINES)),
    "driver_lines": Target(_driver_lines, (_DRIVER,)),
    "moving_events": Target(
        _moving_events, (b"report,0,car1,1.5,2.5\nregister,0,q1,range,0,0,5,5\ndrop,3,q1\nreport,3,car1,nan,1e400\n",)
    ),
    "control": Target(_control, (b'{"paused": true, "steps": 3, "version": 2, "stop": 0}',)),
}
