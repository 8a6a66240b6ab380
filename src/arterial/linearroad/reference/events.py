"""An input tuple of Linear Road (§3.1.2) as a plain Python record, and a kept report with what is remembered of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Event(NamedTuple):
    """The 15 integers of the flat file."""

    type: int
    time: int
    vid: int
    speed: int = -1
    xway: int = -1
    lane: int = -1
    dir: int = -1
    seg: int = -1
    pos: int = -1
    qid: int = -1
    sinit: int = -1
    send: int = -1
    dow: int = -1
    tod: int = -1
    day: int = -1


@dataclass(frozen=True)
class Kept:
    """A report in its trip."""

    report: Event
    predecessor: Kept | None
    # How many consecutive reports, this one included, came from this lane and position.
    run: int
    # The toll quoted on entering the segment of this report.
    quote: int = 0
    # Whether a report of this trip, this one included, came from lane 4.
    exited: bool = False

    @property
    def enters_segment(self) -> bool:
        """Whether this is the first report of its trip from its segment (rule 7)."""
        return self.predecessor is None or self.predecessor.report.seg != self.report.seg


def events_of(events: pa.Table | Iterable[Event]) -> list[Event]:
    """The events, whether they come as a table or as records, in the order of their seconds."""
    if hasattr(events, "to_pylist"):
        events = [Event(**row) for row in events.to_pylist()]
    return sorted(events, key=lambda event: event.time)
