"""The layouts of the 2003 thesis (ch. 3, tables 3.1–3.4): its input tuples as our events, our answers as its output.

Its positions are (Mile, Offset in yards, Lane 0–7) and its Dir 0 is West. One ramp lane serves both ways: a report from
it is an exit if the vehicle was on the road 30 s before, else an entrance. The tables number the requests 1–3, the text
2–4; the number of fields tells which is meant, so both are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from arterial.errors import DataError
from arterial.linearroad.answers import Answers
from arterial.linearroad.city import EAST, ENTRANCE_LANE, EXIT_LANE, REPORT_SECONDS, SEGMENT_FEET, SEGMENTS, WEST
from arterial.linearroad.events import (
    BALANCE_REQUEST,
    EVENT_SCHEMA,
    EXPENDITURE_REQUEST,
    POSITION_REPORT,
    TRAVEL_TIME_REQUEST,
    UNUSED,
)

YARD_FEET = 3
THESIS_WEST, THESIS_EAST = 0, 1
OUTPUT_FIELDS = 5
# Today's expenditure is asked for without a day; events must have one.
_ANY_DAY = 1

_REPORT = ("type", "time", "vid", "speed", "xway", "mile", "offset", "lane", "dir")
_REQUESTS = {
    4: (BALANCE_REQUEST, ("type", "time", "vid", "qid")),
    5: (EXPENDITURE_REQUEST, ("type", "time", "vid", "qid", "xway")),
    9: (TRAVEL_TIME_REQUEST, ("type", "time", "vid", "qid", "xway", "sinit", "send", "dow", "tod")),
}


def read_thesis_input(path: Path) -> pa.Table:
    """The events of a file of table 3.1, comma separated; a line that is none ends the reading with its number."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            rows = list(_events(path, lines))
    except OSError as fault:
        raise DataError(f"{path}: cannot be read ({fault.strerror}).") from fault
    return pa.table({name: [row[name] for row in rows] for name in EVENT_SCHEMA.names}, schema=EVENT_SCHEMA)


def thesis_output_lines(answers: Answers) -> Iterator[str]:
    """Answers as tuples of tables 3.3 and 3.4, padded to five integers. They tell no time, so nobody can judge it."""
    for row in answers.notices.to_pylist():
        yield _padded(0, row["vid"], row["toll"], row["lav"])
    for row in answers.alerts.to_pylist():
        yield _padded(1, row["vid"], row["xway"], row["seg"], THESIS_EAST if row["dir"] == EAST else THESIS_WEST)
    for row in answers.balances.to_pylist():
        yield _padded(2, row["qid"], row["balance"])
    for row in answers.expenditures.to_pylist():
        yield _padded(3, row["qid"], row["balance"])
    for row in answers.travels.to_pylist():
        yield _padded(4, row["qid"], row["travel_time"], row["toll"])


def _padded(*fields: int) -> str:
    return ",".join(map(str, (*fields, *[0] * (OUTPUT_FIELDS - len(fields)))))


def _events(path: Path, lines: Iterable[str]) -> Iterator[dict[str, int]]:
    # Of every vehicle on a road: when it reported last, and whether from the entrance.
    last: dict[tuple[int, int, int], tuple[int, bool]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = [int(field) for field in line.split(",")]
        except ValueError as fault:
            raise DataError(f"{path}:{number}: expected integers, found {line.strip()[:80]!r}.") from fault
        if fields[0] == POSITION_REPORT and len(fields) == len(_REPORT):
            row = _report(dict(zip(_REPORT, fields, strict=True)), last, f"{path}:{number}")
        elif fields[0] != POSITION_REPORT and len(fields) in _REQUESTS:
            kind, names = _REQUESTS[len(fields)]
            row = {**dict(zip(names, fields, strict=True)), "type": kind}
            if kind == TRAVEL_TIME_REQUEST:
                # Sunday is 0 and the first minute 0:00; ours count from 1.
                row["dow"] += 1
                row["tod"] += 1
            elif kind == EXPENDITURE_REQUEST:
                row["day"] = _ANY_DAY
        else:
            raise DataError(
                f"{path}:{number}: no tuple of table 3.1: type {fields[0]} with {len(fields)} fields. Expected 9 fields"
                " for a position report or travel query, 4 for an account query, 5 for an expenditure query."
            )
        yield {name: row.get(name, UNUSED) for name in EVENT_SCHEMA.names}


def _report(told: dict[str, int], last: dict[tuple[int, int, int], tuple[int, bool]], place: str) -> dict[str, int]:
    if not 0 <= told["mile"] < SEGMENTS or not 0 <= told["offset"] * YARD_FEET < SEGMENT_FEET:
        raise DataError(f"{place}: Mile must be 0–99 and Offset 0–1759, found {told['mile']} and {told['offset']}.")
    if not 0 <= told["lane"] <= 7 or told["dir"] not in (THESIS_WEST, THESIS_EAST):
        raise DataError(f"{place}: Lane must be 0–7 and Dir 0 or 1, found {told['lane']} and {told['dir']}.")
    # Lanes 4–7 are the eastbound ones, mirrored: 7 is the ramp.
    lane = 7 - told["lane"] if told["lane"] > 3 else told["lane"]
    direction = EAST if told["dir"] == THESIS_EAST else WEST
    road = (told["vid"], told["xway"], direction)
    if lane == ENTRANCE_LANE:
        before, entering = last.get(road, (told["time"] - 2 * REPORT_SECONDS, True))
        going_on = before == told["time"] - REPORT_SECONDS
        lane = EXIT_LANE if going_on and not entering else ENTRANCE_LANE
    last[road] = (told["time"], lane == ENTRANCE_LANE)
    return {
        "type": POSITION_REPORT,
        "time": told["time"],
        "vid": told["vid"],
        "speed": told["speed"],
        "xway": told["xway"],
        "lane": lane,
        "dir": direction,
        "seg": told["mile"],
        "pos": told["mile"] * SEGMENT_FEET + told["offset"] * YARD_FEET,
    }
