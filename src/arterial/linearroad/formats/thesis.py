"""The layouts of the 2003 thesis (ch. 3, tables 3.1–3.4): its input tuples as our lines, our answers as its output.

Its positions are (Mile, Offset in yards, Lane 0–7) and its Dir 0 is West. One ramp lane serves both ways: a report from
it is an exit if the vehicle was on the road 30 s before, else an entrance. Tuples are padded to nine fields, or not.
The tables number the requests 1–3, the text 2–4; a file that has a type 1 at its beginning is by the tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from arterial.linearroad.formats.answers import ACCIDENT_ALERT, BALANCE, EXPENDITURE, TOLL_NOTICE, TRAVEL_TIME
from arterial.linearroad.formats.events import (
    BALANCE_REQUEST,
    EVENT_SCHEMA,
    EXPENDITURE_REQUEST,
    POSITION_REPORT,
    TRAVEL_TIME_REQUEST,
    UNUSED,
)
from arterial.linearroad.semantics.city import EAST, ENTRANCE_LANE, EXIT_LANE, REPORT_SECONDS, SEGMENT_FEET, WEST

YARD_FEET = 3
MILE_YARDS = SEGMENT_FEET // YARD_FEET
THESIS_WEST, THESIS_EAST = 0, 1
RIGHTMOST_LANE = 7
OUTPUT_FIELDS = 5
# Today's expenditure is asked for without a day; events must have one.
ANY_DAY = 1

_REPORT = ("type", "time", "vid", "speed", "xway", "mile", "offset", "lane", "dir")
_REQUEST = {
    BALANCE_REQUEST: ("type", "time", "vid", "qid"),
    EXPENDITURE_REQUEST: ("type", "time", "vid", "qid", "xway"),
    TRAVEL_TIME_REQUEST: ("type", "time", "vid", "qid", "xway", "sinit", "send", "dow", "tod"),
}
_KIND_BY_FIELDS = {len(names): kind for kind, names in _REQUEST.items() if len(names) < len(_REPORT)}
_TYPE_1 = re.compile(rb"^\s*1\s*,", re.MULTILINE)
_TUPLE = re.compile(rb"\s*[0-4](\s*,\s*-?\d{1,18}\s*){3}((,\s*-?\d{1,18}\s*){5}|,\s*-?\d{1,18}\s*)?$")


class ThesisLines:
    """Translates lines of table 3.1 to our 15 integers, one for one, so that numbers of lines stay what they are.

    What is no tuple of that table is left as it is, and what is out of range stays so: cleaning then sets it aside.

    >>> ThesisLines().translate(b"0,30,5,50,1,10,1759,6,1\\n").split(b",")[5:9]
    [b'1', b'0', b'10', b'58077']
    """

    def __init__(self, *, by_tables: bool = False) -> None:
        shift = 1 if by_tables else 0
        self._kinds = {TRAVEL_TIME_REQUEST: TRAVEL_TIME_REQUEST, **{kind - shift: kind for kind in _REQUEST}}
        # Of every vehicle on a road: when it reported last, and whether from the entrance.
        self._last: dict[tuple[int, int, int], tuple[int, bool]] = {}
        self._cut = b""
        self._lines: list[bytes] = []
        self._before = 0

    @classmethod
    def of(cls, data: bytes) -> ThesisLines | None:
        """The translator for a file that begins so; None if its first line is no tuple of table 3.1."""
        first = next((line for line in data[:65536].split(b"\n") if line.strip()), b"")
        return cls(by_tables=_TYPE_1.search(data) is not None) if _TUPLE.match(first) else None

    def translate(self, data: bytes) -> bytes:
        """The lines that `data` completes, in our layout."""
        *whole, self._cut = (self._cut + data).split(b"\n")
        return self._translated(whole)

    def finish(self) -> bytes:
        """A last line without an end."""
        last, self._cut = self._cut, b""
        return self._translated([last] if last else [])

    def text(self, line: int) -> str:
        """A line that was translated last, by its number, as it stood in the file."""
        return self._lines[line - 1 - self._before].rstrip(b"\r").decode("utf-8", "backslashreplace")

    def _translated(self, lines: list[bytes]) -> bytes:
        self._before += len(self._lines)
        self._lines = lines
        return b"".join(self._line(line) + b"\n" for line in lines)

    def _line(self, line: bytes) -> bytes:
        if not _TUPLE.match(line):
            return line
        fields = [int(field) for field in line.split(b",")]
        kind = fields[0]
        if kind != POSITION_REPORT:
            kind = _KIND_BY_FIELDS.get(len(fields)) or self._kinds.get(kind, UNUSED)
        if kind == POSITION_REPORT and len(fields) == len(_REPORT):
            row = self._report(fields)
        elif kind in _REQUEST:
            row = _request(kind, fields)
        else:
            return line
        return b",".join(b"%d" % row.get(name, UNUSED) for name in EVENT_SCHEMA.names)

    def _report(self, fields: Sequence[int]) -> dict[str, int]:
        row = dict(zip(_REPORT, fields, strict=True))
        mile, offset = row.pop("mile"), row.pop("offset")
        # Lanes 4–7 are the eastbound ones, mirrored: 7 is the ramp.
        lane = RIGHTMOST_LANE - row["lane"] if row["lane"] > RIGHTMOST_LANE // 2 else row["lane"]
        direction = {THESIS_EAST: EAST, THESIS_WEST: WEST}.get(row["dir"], row["dir"])
        road = (row["vid"], row["xway"], direction)
        if lane == ENTRANCE_LANE:
            before, entering = self._last.get(road, (UNUSED, True))
            going_on = before == row["time"] - REPORT_SECONDS
            lane = EXIT_LANE if going_on and not entering else ENTRANCE_LANE
        self._last[road] = (row["time"], lane == ENTRANCE_LANE)
        pos = mile * SEGMENT_FEET + offset * YARD_FEET if 0 <= offset < MILE_YARDS else UNUSED
        return {**row, "lane": lane, "dir": direction, "seg": mile, "pos": pos}


def thesis_output(answer_type: int, answers: pa.Table) -> bytes:
    """Answers of one type as tuples of tables 3.3 and 3.4, padded to five fields.

    They have neither the time of the input nor that of emission, so they cannot be judged.
    """
    told = [pl.lit(answer_type).alias("type"), *_OUTPUT[answer_type]]
    padding = [pl.lit(0).alias(f"padding {place}") for place in range(len(told), OUTPUT_FIELDS)]
    return pl.DataFrame(pl.from_arrow(answers)).select(*told, *padding).write_csv(include_header=False).encode()


_OUTPUT: dict[int, tuple[pl.Expr, ...]] = {
    TOLL_NOTICE: (pl.col("vid"), pl.col("toll"), pl.col("lav")),
    ACCIDENT_ALERT: (
        pl.col("vid"),
        pl.col("xway"),
        pl.col("seg"),
        pl.when(pl.col("dir") == EAST).then(THESIS_EAST).otherwise(THESIS_WEST).alias("dir"),
    ),
    BALANCE: (pl.col("qid"), pl.col("balance")),
    EXPENDITURE: (pl.col("qid"), pl.col("balance")),
    TRAVEL_TIME: (pl.col("qid"), pl.col("travel_time"), pl.col("toll")),
}


def _request(kind: int, fields: Sequence[int]) -> dict[str, int]:
    row = {**dict(zip(_REQUEST[kind], fields, strict=False)), "type": kind}
    if kind == TRAVEL_TIME_REQUEST:
        # Sunday is 0 and the first minute 0:00; ours count from 1.
        row["dow"] += 1
        row["tod"] += 1
    elif kind == EXPENDITURE_REQUEST:
        row["day"] = ANY_DAY
    return row
