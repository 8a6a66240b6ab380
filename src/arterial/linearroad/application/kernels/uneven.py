"""Vehicles with more than one trip in a segment and minute: the segment's statistics must not count their trips apart.

A vehicle that reports every 30 s has at most two reports a minute, one the predecessor of the other, and the statistics
are sums along trips. Other streams exist: trips of one vehicle may interleave (0, 30 and 15, 45), or break off and
begin again within a minute. To know such vehicles exactly without remembering every vehicle of the minute, a ledger
keeps those that began a trip in this minute and those whose trip ended; when the minute is over, the beginners are
looked for in the ring of the last 30 seconds. A vehicle found in two of its slots stays suspected for the next minute
(`twins`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import (
    boolean,
    int8,
    int64,
    kernel,
    narrowed,
    reads,
    several,
    uint8,
    writes,
)
from arterial.linearroad.application.kernels.base.hashing import bits_for, home
from arterial.linearroad.application.kernels.base.reports import SPEED_SHIFT
from arterial.linearroad.semantics.city import MINUTE_SECONDS, REPORT_SECONDS, SEGMENTS
from arterial.network.state import State


@dataclass(frozen=True)
class Uneven:
    """Vehicles with several trips in a cell and minute: what their trips had added, and what is right instead."""

    cell: Array
    trips: Array  # counted as so many vehicles
    doubled: Array  # twice the sum of the trips' mean speeds
    reports: Array
    speed_sum: Array


@dataclass(frozen=True)
class Ledger:
    """The minute's beginnings and ends of trips, and the shard's expressways in the order of their numbers."""

    minute: int
    xways: Array
    fresh_vid: Array
    fresh_phase: Array  # second of the trip's reports within 30 s
    gone_vid: Array
    gone_phase: Array
    gone_cell: Array
    gone_speed: Array
    twins: Array

    @classmethod
    def opened(cls, minute: int, xways: Array, twins: Array) -> Ledger:
        """The ledger of a minute that begins."""
        vids, phases = np.empty(0, np.int64), np.empty(0, np.int8)
        return cls(minute, xways, vids, phases, vids, phases, np.empty(0, np.int32), np.empty(0, np.uint8), twins)

    @classmethod
    def read(cls, state: State) -> Ledger:
        """The ledger as the last train left it."""
        chunk = chunks.read(state, "ledger")
        if chunk is None:
            return cls.opened(0, np.empty(0, np.int32), np.empty(0, np.int64))
        return cls(minute=chunks.stamp_of(chunk), **{name: chunk[name] for name in LEDGER_COLUMNS})

    def write(self, state: State) -> None:
        """Keep it for the next train."""
        columns = {name: getattr(self, name) for name in LEDGER_COLUMNS}
        for name in ("fresh_vid", "gone_vid", "twins"):
            columns[name] = narrowed(columns[name])
        chunks.write(state, "ledger", "", self.minute, columns)

    def extended(self, xways: Array, added: Sequence[tuple[int, Array, Array, Array, Array]]) -> Ledger:
        """With, for each second, the vehicles that began a trip, and vehicles, cells and places of those that ended."""
        phases = [second % REPORT_SECONDS for second, *_ in added]
        return Ledger(
            self.minute,
            xways,
            np.concatenate([self.fresh_vid, *(fresh for _, fresh, *_ in added)]),
            np.concatenate([self.fresh_phase, *(_phase(p, a[1]) for p, a in zip(phases, added, strict=True))]),
            np.concatenate([self.gone_vid, *(gone for _, _, gone, _, _ in added)]),
            np.concatenate([self.gone_phase, *(_phase(p, a[2]) for p, a in zip(phases, added, strict=True))]),
            np.concatenate([self.gone_cell, *(cell for *_, cell, _ in added)]),
            np.concatenate([self.gone_speed, *((p >> SPEED_SHIFT).astype(np.uint8) for *_, p in added)]),
            self.twins,
        )


LEDGER_COLUMNS = tuple(field.name for field in fields(Ledger) if field.name != "minute")


def merge_trips(state: State, ledger: Ledger) -> tuple[Uneven, Array]:
    """Close the ledger's minute: the uneven vehicles, and those that go into the next minute with several trips."""
    first = (ledger.minute - 1) * MINUTE_SECONDS
    suspects = np.concatenate([ledger.fresh_vid, ledger.twins]).astype(np.int64)
    phases = np.concatenate([ledger.fresh_phase, np.full(ledger.twins.size, -1, np.int8)])
    if suspects.size == 0:
        return NONE_UNEVEN, np.empty(0, np.int64)
    bits = int(bits_for(suspects.size))
    keys, phase_of, several, sieve = _suspect(suspects, phases, bits)
    _sight(ledger.gone_vid.astype(np.int64), ledger.gone_phase, keys, phase_of, several, sieve, bits)
    slots = []
    for phase in range(REPORT_SECONDS):
        trips = chunks.read(state, "trips", chunks.slot(phase, REPORT_SECONDS))
        if trips is not None and first <= chunks.stamp_of(trips) < first + MINUTE_SECONDS:
            vid = trips["vid"].astype(np.int64)
            slots.append((phase, vid, trips))
            _sight(vid, np.full(1, phase, np.int8), keys, phase_of, several, sieve, bits)
    if not several.any():
        return NONE_UNEVEN, np.empty(0, np.int64)
    return _account_for(ledger, np.sort(keys[several]), slots, first)


def _account_for(
    ledger: Ledger, vids: Array, slots: list[tuple[int, Array, dict[str, Array]]], first: int
) -> tuple[Uneven, Array]:
    """All reports of these vehicles in the minute, from the ledger and the ring, put together by vehicle and cell."""
    gone = np.isin(ledger.gone_vid, vids)
    rows = [(ledger.gone_vid[gone], ledger.gone_cell[gone], ledger.gone_phase[gone], ledger.gone_speed[gone])]
    alive = []
    for phase, vid, trips in slots:
        hit = np.flatnonzero(np.isin(vid, vids))
        if hit.size == 0:
            continue
        cell = trips["cell"][hit]
        speed = (trips["place"][hit] >> SPEED_SHIFT).astype(np.uint8)
        rows.append((vid[hit], cell, _phase(phase, hit), speed))
        if chunks.stamp_of(trips) >= first + REPORT_SECONDS:
            alive.append(np.unique(vid[hit]))
            before = trips["prev_seg"][hit]
            has = np.flatnonzero(before >= 0)
            old_cell = (cell[has] // SEGMENTS * SEGMENTS + before[has]).astype(np.int32)
            rows.append((vid[hit][has], old_cell, _phase(phase, has), trips["prev_speed"][hit][has]))
    columns = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
    seen, times = np.unique(np.concatenate([np.empty(0, np.int64), *alive]), return_counts=True)
    return _by_cell(*columns), seen[times > 1]


def _by_cell(vid: Array, cell: Array, phase: Array, speed: Array) -> Uneven:
    """The vehicles that have several trips in a cell. A trip has one or two reports there, at one phase."""
    order = np.lexsort((phase, cell, vid))
    vid, cell, phase, speed = vid[order], cell[order], phase[order], speed[order].astype(np.int64)
    in_cell = np.concatenate([[0], np.flatnonzero((np.diff(vid) != 0) | (np.diff(cell) != 0)) + 1])
    new_trip = np.ones(vid.size, np.bool_)
    new_trip[1:] = (np.diff(vid) != 0) | (np.diff(cell) != 0) | (np.diff(phase) != 0)
    starts = np.flatnonzero(new_trip)
    trip_reports = np.diff(np.append(starts, vid.size))
    trip_doubled = np.add.reduceat(speed, starts) * 2 // trip_reports
    spread = np.zeros(vid.size, np.int64)
    spread[starts] = trip_doubled
    trips = np.add.reduceat(new_trip.astype(np.int64), in_cell)
    reports = np.diff(np.append(in_cell, vid.size))
    kept = trips > 1
    return Uneven(
        cell[in_cell][kept],
        trips[kept],
        np.add.reduceat(spread, in_cell)[kept],
        reports[kept],
        np.add.reduceat(speed, in_cell)[kept],
    )


def _phase(phase: int, like: Array) -> Array:
    return np.full(like.size, phase, np.int8)


NONE_UNEVEN = Uneven(*(np.empty(0, np.int64) for _ in range(5)))

SIEVE_BITS = 2
"""The sieve has 2**SIEVE_BITS bits for each slot of a table that is half full: at most one vehicle in eight passes it
without being in the table."""


@kernel(
    reads(int64),
    reads(int8),
    int64,
    gives=several(writes(int64), writes(int8), writes(boolean), writes(uint8)),
)
def _suspect(vid: Array, phase: Array, bits: int) -> tuple[Array, Array, Array, Array]:
    """A table of the suspects with the phase of each (-1: unknown) and whether several were seen; a sieve before it."""
    mask = (1 << bits) - 1
    keys = np.full(1 << bits, -1, np.int64)
    phase_of = np.full(1 << bits, -1, np.int8)
    several = np.zeros(1 << bits, np.bool_)
    sieve = np.zeros(1 << (bits + SIEVE_BITS - 3), np.uint8)
    for row in range(vid.size):
        bit = home(vid[row], bits + SIEVE_BITS)
        sieve[bit >> 3] |= np.uint8(1 << (bit & 7))
        slot = home(vid[row], bits)
        while keys[slot] >= 0 and keys[slot] != vid[row]:
            slot = (slot + 1) & mask
        keys[slot] = vid[row]
        if phase[row] >= 0:
            several[slot] |= phase_of[slot] >= 0 and phase_of[slot] != phase[row]
            phase_of[slot] = phase[row]
    return keys, phase_of, several, sieve


@kernel(
    reads(int64),
    reads(int8),
    reads(int64),
    writes(int8),
    writes(boolean),
    reads(uint8),
    int64,
)
def _sight(vid: Array, phase: Array, keys: Array, phase_of: Array, several: Array, sieve: Array, bits: int) -> None:
    """Note the phases at which suspects were seen; `phase` has one value for each row, or one for all."""
    mask = (1 << bits) - 1
    step = 1 if phase.size == vid.size else 0
    for row in range(vid.size):
        bit = home(vid[row], bits + SIEVE_BITS)
        if (sieve[bit >> 3] >> np.uint8(bit & 7)) & 1 == 0:
            continue
        slot = home(vid[row], bits)
        while keys[slot] >= 0 and keys[slot] != vid[row]:
            slot = (slot + 1) & mask
        if keys[slot] >= 0:
            seen = phase[row * step]
            several[slot] |= phase_of[slot] >= 0 and phase_of[slot] != seen
            phase_of[slot] = seen
