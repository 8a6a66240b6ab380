"""Turns an expressway's reports into events: both directions together, second by second, requests after reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.formats.events import EVENT_SCHEMA, UNUSED
from arterial.linearroad.semantics.city import EAST, EXPRESSWAY_FEET, SEGMENT_FEET, WEST
from arterial.linearroad.simulate.model.road import Reports
from arterial.linearroad.simulate.requests import has_request, make_request, requests_a_second

GROUP_ROWS = 16_384


class Columns(NamedTuple):
    """The columns of `EVENT_SCHEMA`, in its order."""

    type: NDArray[np.int8]
    time: NDArray[np.int32]
    vid: NDArray[np.int64]
    speed: NDArray[np.int16]
    xway: NDArray[np.int32]
    lane: NDArray[np.int8]
    dir: NDArray[np.int8]
    seg: NDArray[np.int16]
    pos: NDArray[np.int32]
    qid: NDArray[np.int64]
    sinit: NDArray[np.int16]
    send: NDArray[np.int16]
    dow: NDArray[np.int8]
    tod: NDArray[np.int16]
    day: NDArray[np.int16]


class Expressway(NamedTuple):
    """The reports of one expressway and what they need to become events; a half one has no westbound reports."""

    number: int
    xways: int
    seed: int
    east: Reports  # `until` counts from the start of the data
    west: Reports
    vehicle: NDArray[np.int64]  # by trip


def event_groups(expressway: Expressway, seconds_a_group: int | None = None) -> Iterator[pa.Table]:
    """The events in groups of whole seconds: at most `GROUP_ROWS` where a second has no more, or a fixed time each."""
    number, xways, seed, east, west, vehicle = expressway
    asked = np.random.default_rng([seed, number, 40]).integers(0, 2**62, 2)
    rows = np.zeros(len(east.until), np.int64)
    for direction, reports in ((EAST, east), (WEST, west)):
        rows += np.diff(reports.until, prepend=0) + requests_a_second(asked[direction], reports.until)
    questions = 0
    for first, stop in second_groups(rows, seconds_a_group):
        columns = _unused(int(rows[first:stop].sum()))
        questions = write_seconds(columns, first, stop, east, west, vehicle, asked, questions, number, xways)
        yield pa.Table.from_arrays([pa.array(column) for column in columns], schema=EVENT_SCHEMA)


def second_groups(rows: NDArray[np.int64], seconds_a_group: int | None = None) -> Iterator[tuple[int, int]]:
    """Spans [first, stop) of whole seconds with at most `GROUP_ROWS` rows each, or of a fixed length.

    >>> list(second_groups(np.array([9_000, 7_000, 1_000, 20_000, 5])))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    >>> list(second_groups(np.array([1, 2, 3]), seconds_a_group=2))
    [(0, 2), (2, 3)]
    """
    first, filled = 0, 0
    for second, count in enumerate(rows):
        full = second - first == seconds_a_group if seconds_a_group else filled + count > GROUP_ROWS
        if full and second > first:
            yield first, second
            first, filled = second, 0
        filled += int(count)
    if len(rows):
        yield first, len(rows)


@njit(cache=True)
def write_seconds(
    columns: Columns,
    first: int,
    stop: int,
    east: Reports,
    west: Reports,
    vehicle: NDArray[np.int64],
    asked: NDArray[np.int64],
    questions: int,
    xway: int,
    xways: int,
) -> int:
    """Write the events of the seconds [first, stop); returns the number of requests so far.

    A request's QID is its number on the expressway times `xways`, plus the expressway: no two of a city are the same.
    """
    row = 0
    for second in range(first, stop):
        row = write_reports(columns, row, east, second, xway, EAST, vehicle)
        row = write_reports(columns, row, west, second, xway, WEST, vehicle)
        before = row
        row = write_requests(columns, row, questions, east, second, xway, vehicle, asked[EAST], xways)
        row = write_requests(columns, row, questions + row - before, west, second, xway, vehicle, asked[WEST], xways)
        questions += row - before
    return questions


@njit(cache=True)
def write_reports(
    columns: Columns, row: int, reports: Reports, second: int, xway: int, direction: int, vehicle: NDArray[np.int64]
) -> int:
    """Write the position reports of one second and direction from `row` on; returns the next free row."""
    first = reports.until[second - 1] if second else 0
    for report in range(first, reports.until[second]):
        pos = reports.along[report]
        if direction == WEST:
            pos = EXPRESSWAY_FEET - 1 - pos
        columns.type[row] = 0
        columns.time[row] = second
        columns.vid[row] = vehicle[reports.trip[report]]
        columns.speed[row] = reports.speed[report]
        columns.xway[row] = xway
        columns.lane[row] = reports.lane[report]
        columns.dir[row] = direction
        columns.seg[row] = pos // SEGMENT_FEET
        columns.pos[row] = pos
        row += 1
    return row


@njit(cache=True)
def write_requests(
    columns: Columns,
    row: int,
    questions: int,
    reports: Reports,
    second: int,
    xway: int,
    vehicle: NDArray[np.int64],
    seed: int,
    xways: int,
) -> int:
    """Write the requests that come with those reports; returns the next free row."""
    first = reports.until[second - 1] if second else 0
    for report in range(first, reports.until[second]):
        if has_request(seed, report):
            request = make_request(seed, report, xways)
            columns.type[row] = request.type
            columns.time[row] = second
            columns.vid[row] = vehicle[reports.trip[report]]
            columns.xway[row] = request.xway
            columns.qid[row] = questions * xways + xway
            columns.sinit[row] = request.sinit
            columns.send[row] = request.send
            columns.dow[row] = request.dow
            columns.tod[row] = request.tod
            columns.day[row] = request.day
            questions += 1
            row += 1
    return row


def _unused(rows: int) -> Columns:
    return Columns(*(np.full(rows, UNUSED, field.type.to_pandas_dtype()) for field in EVENT_SCHEMA))
