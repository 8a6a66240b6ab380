"""Where channels end: the trains of all senders become one train again, in order and complete (decisions 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from arterial.engine.plan.plan import Channel, Merge, Route
from arterial.network.box import Stream
from arterial.network.keys.slots import split
from arterial.network.state import State
from arterial.network.train import Train

_HELD = "held"


@dataclass(frozen=True)
class Parcel:
    """A train on its way through a channel."""

    channel: int
    sender: int
    receiver: int
    train: Train


def send(channel: Channel, slot: int, shards: int, train: Train) -> list[Parcel]:
    """A train's way out of a slot: one parcel, maybe empty, for every slot that the channel leads to."""
    if channel.route is Route.SPLIT:
        parts = split(train.tuples, channel.columns, shards)
        return [Parcel(channel.number, slot, to, Train(part, train.through)) for to, part in enumerate(parts)]
    return [Parcel(channel.number, slot, to, train) for to in channel.receivers(shards, slot)]


def receive(channel: Channel, parcels: Sequence[Parcel], state: State) -> Train:
    """All parcels that a slot got from a channel in one step, as one train through the earliest of theirs.

    Tuples beyond that time wait in the state until every sender is as far.
    """
    trains = [parcel.train for parcel in sorted(parcels, key=lambda parcel: parcel.sender)]
    through = min(train.through for train in trains)
    kept = state.get(_HELD)
    parts = [kept] if isinstance(kept, pl.DataFrame) else []
    parts += [train.tuples for train in trains if len(train)]
    tuples = channel.stream.schema.empty() if not parts else parts[0] if len(parts) == 1 else pl.concat(parts)
    if not channel.stream.ordered:
        return Train(tuples, through)
    if channel.merge is Merge.VALUES:
        # The order within one sender is as arbitrary as the number of shards, so even a single part is put in order.
        tuples = by_time_and_value(tuples, channel.stream)
    elif channel.merge is Merge.TIME and not _follow_each_other(parts, channel.stream.time):
        tuples = tuples.sort(channel.stream.time, maintain_order=True)
    if all(train.through == through for train in trains) and kept is None:
        return Train(tuples, through)
    return hold_back(tuples, through, channel.stream, state)


def _follow_each_other(parts: Sequence[pl.DataFrame], time: str) -> bool:
    """Whether no part begins before the one in front of it ends; each is in order."""
    return all(one[time][-1] <= other[time][0] for one, other in pairwise(parts))


def hold_back(tuples: pl.DataFrame, through: int, stream: Stream, state: State) -> Train:
    """The tuples up to a time; the others wait in the state."""
    ready = pl.col(stream.time).to_physical() <= through
    later = tuples.filter(~ready)
    if later.height:
        state.put(_HELD, "", later)
    elif state.get(_HELD) is not None:
        state.drop(_HELD)
    return Train(tuples.filter(ready) if later.height else tuples, through)


def by_time_and_value(tuples: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """The tuples in the order of their time, and where that is equal in the order of their values."""
    others = [name for name in stream.schema.names if name != stream.time]
    return tuples.sort([stream.time, *others], maintain_order=True)
