"""Loops of the GPAC boxes over entries: the rows of objects, how often they stand, and what was reported of them."""

from __future__ import annotations

from numba import njit

from arterial.arrays import Array

NONE = -1


@njit(cache=True)
def link(objects: Array, n: Array, first_entry: Array, next_entry: Array, standing: Array) -> None:
    """Chain the entries of each object, and count those that stand."""
    for entry in range(len(objects) - 1, -1, -1):
        at = objects[entry]
        next_entry[entry] = first_entry[at]
        first_entry[at] = entry
        standing[at] += n[entry] > 0


@njit(cache=True)
def take_in(
    signed: bool,
    begin: int,
    end: int,
    time: int,
    event_object: Array,
    event_entry: Array,
    event_weight: Array,
    event_row: Array,
    n: Array,
    current: Array,
    standing: Array,
    position: Array,
    last: Array,
    first_entry: Array,
    next_entry: Array,
    changed: Array,
    mark: int,
    stamps: Array,
    entries: Array,
    object_stamps: Array,
    objects: Array,
) -> tuple[int, int]:
    """Let the events of an instant happen; fills in the entries and objects that they touch, returns how many."""
    entry_count = object_count = 0
    for i in range(begin, end):
        at, entry, weight = event_object[i], event_entry[i], event_weight[i]
        if object_stamps[at] != mark:
            object_stamps[at] = mark
            objects[object_count] = at
            object_count += 1
        if signed:
            stood = n[entry] > 0
            n[entry] += weight
            standing[at] += (n[entry] > 0) - stood
        else:
            old = current[at]
            if old != entry and old != NONE:
                n[old] = 0
                if stamps[old] != mark:
                    stamps[old] = mark
                    entries[entry_count] = old
                    entry_count += 1
            if entry != NONE:
                n[entry] = 1
            current[at] = entry
            standing[at] = weight
        if weight > 0:
            position[at] = event_row[i]
            last[at] = time
        if entry != NONE and stamps[entry] != mark:
            stamps[entry] = mark
            entries[entry_count] = entry
            entry_count += 1
    for i in range(object_count):
        entry = first_entry[objects[i]]
        while entry != NONE:
            changed[entry] = True
            entry = next_entry[entry]
    return entry_count, object_count


@njit(cache=True)
def tell(
    touched: int,
    entries: Array,
    changed_objects: Array,
    changed_signs: Array,
    member: Array,
    first_entry: Array,
    next_entry: Array,
    object_of: Array,
    n: Array,
    told: Array,
    told_row: Array,
    position: Array,
    changed: Array,
    mark: int,
    stamps: Array,
    signs: Array,
    rows: Array,
    copies: Array,
) -> int:
    """Compare reported entries with what stands and is in the answer; fills in signs, rows of x and y, copies.

    Returns how many entries were looked at; where nothing changed the copies are 0.
    """
    for i in range(len(changed_objects)):
        at = changed_objects[i]
        member[at] = changed_signs[i] > 0
        entry = first_entry[at]
        while entry != NONE:
            if stamps[entry] != mark:
                stamps[entry] = mark
                entries[touched] = entry
                touched += 1
            entry = next_entry[entry]
    for i in range(touched):
        entry = entries[i]
        at = object_of[entry]
        wanted = n[entry] if member[at] and n[entry] > 0 else 0
        if wanted > 0 and told[entry] == 0:
            told_row[entry] = position[at]
        signs[i] = 1 if wanted > told[entry] else -1
        copies[i] = abs(wanted - told[entry])
        rows[i] = told_row[entry]
        if copies[i] > 0:
            changed[entry] = True
        if wanted == 0:
            told_row[entry] = NONE
        told[entry] = wanted
    return touched
