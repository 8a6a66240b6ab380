"""What the interpreter's boxes share about signs: multisets of rows, and the order of changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from arterial.network.box import SIGN, Stream
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, counted
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, group_of, instant, value_order

Row = dict[str, Any]
Change = tuple[int, int, Row]
"""An instant, a sign, a row."""


class Multiset:
    """Rows, and how often each stands."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.rows: dict[tuple[Any, ...], Row] = {}
        self.counts: dict[tuple[Any, ...], int] = {}

    def add(self, values: Row, weight: int) -> None:
        """A row comes or goes."""
        key = group_of(values, self.columns)
        self.rows.setdefault(key, {name: values[name] for name in self.columns})
        self.counts[key] = self.counts.get(key, 0) + weight

    def standing(self) -> list[tuple[Row, int]]:
        """The rows that stand, and how often."""
        return [(self.rows[key], count) for key, count in self.counts.items() if count > 0]

    def all(self) -> list[tuple[Row, int]]:
        """The rows that stand or are owed, and how often."""
        return [(self.rows[key], count) for key, count in self.counts.items() if count]


def weight(values: Row, stream: Stream) -> int:
    """What a tuple counts: its sign, or one."""
    return (values[SIGN] or 0) if stream.signed else 1


def by_instant(tuples: Tuples, time: str) -> dict[int, Tuples]:
    """The tuples of each instant, in order."""
    instants: dict[int, Tuples] = {}
    for values in tuples:
        instants.setdefault(instant(values, time), []).append(values)
    return dict(sorted(instants.items()))


def difference(t: int, old: Multiset, new: Multiset) -> list[Change]:
    """The changes that lead from what stood to what stands, at an instant."""
    changes: list[Change] = []
    for key in old.counts | new.counts:
        more = new.counts.get(key, 0) - old.counts.get(key, 0)
        row = new.rows[key] if key in new.rows else old.rows[key]
        changes += [(t, 1 if more > 0 else -1, row)] * abs(more)
    return changes


def standing_at(tuples: Tuples, stream: Stream, columns: tuple[str, ...]) -> Iterator[tuple[int, Multiset]]:
    """The rows of a stream at the end of each instant, in one multiset that changes."""
    rows = Multiset(columns)
    for t, some in by_instant(tuples, stream.time).items():
        for values in some:
            rows.add(values, weight(values, stream))
        yield t, rows


def led_through(states: Iterable[tuple[int, Multiset]], stream: Stream) -> Tuples:
    """The tuples of a signed stream that lead from nothing through all these states, each with its instant."""
    before, changes = Multiset(row_columns(stream)), list[Change]()
    for t, now in states:
        changes += difference(t, before, now)
        before = now
    return told(changes, stream)


def told(changes: list[Change], stream: Stream) -> Tuples:
    """Changes as tuples of a signed stream: at one instant what goes before what comes, in the order of values."""
    names = row_columns(stream)
    in_order = sorted(changes, key=lambda change: (*change[:2], [value_order(change[2][name]) for name in names]))
    kind = stream.schema[stream.time]
    made = [row | {stream.time: instant_to_value(t, kind), SIGN: sign} for t, sign, row in in_order]
    return [{name: values[name] for name in stream.schema.names} for values in made]


def places_so_far(tuples: Tuples, stream: Stream, values: Row, columns: tuple[str, ...], now: int) -> tuple[int, ...]:
    """The places of all tuples up to an instant that have the same values in some columns."""
    same = group_of(values, columns)
    return tuple(
        i for i, one in enumerate(tuples) if instant(one, stream.time) <= now and group_of(one, columns) == same
    )


def signed_because(used: dict[str, tuple[int, ...]], values: Row, words: str) -> Because:
    """The changes that led to a change, and what became of the row."""
    number = counted(sum(map(len, used.values())), "change")
    return Because(used, f"the row {'comes' if values[SIGN] > 0 else 'goes'}: {words}, after {number}")
