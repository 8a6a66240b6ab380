"""The meaning of moving queries, a tuple at a time: every query is an instance of the skeleton and gets every tuple.

Slow and plain. What comes out is what the skeleton says as tuples arrive; `net` leaves of a time unit only what lasts
to its end, which is the form in which engines and files give updates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from arterial.moving.queries.events import (
    Drop,
    Event,
    MovingNearest,
    MovingRange,
    Nearest,
    Query,
    Range,
    Register,
    Report,
    Sign,
    Update,
)
from arterial.moving.queries.ids import Id, id_order
from arterial.moving.queries.nearest import GpacKnn
from arterial.moving.queries.range import GpacIn
from arterial.moving.queries.skeleton import Gpac, Located
from arterial.moving.queries.space import Space


class Interpreter:
    """Runs events tuple at a time. `cache` is per cent of the conservative cache, for the `longest_step` between
    reports.
    """

    def __init__(
        self,
        *,
        space: Space = Space.PLANE,
        timeout: float | None = None,
        cache: float = 100.0,
        longest_step: float = 0.0,
    ) -> None:
        self.space, self.timeout, self.cache, self.longest_step = space, timeout, cache, longest_step
        self.queries: dict[Id, Gpac] = {}
        self.last: dict[Id, float] = {}

    def add(self, name: Id, query: Gpac) -> None:
        """Begin a query of any kind, one of your own too."""
        self.queries[name] = query

    def take(self, t: float, events: Iterable[Event]) -> Iterator[Update]:
        """Take in the events of a time unit one after another, and end it: all that the queries say, as they say it."""
        for event in events:
            match event:
                case Report():
                    self.last[event.object] = t
                    tuple_ = Located(event.object, (event.x, event.y))
                    for name, query in self.queries.items():
                        for sign, identity in query.receive(tuple_):
                            yield Update(t, name, sign, identity)
                case Register():
                    yield from self._withdraw(t, event.name)
                    self.add(event.name, self._instance(event.query))
                case Drop():
                    yield from self._withdraw(t, event.name)
        if self.timeout is not None:
            yield from self._disconnect(t, self.timeout)

    def answers(self) -> dict[Id, set[Id]]:
        """The answer of every query, now."""
        return {name: set(query.answer) for name, query in self.queries.items()}

    def _instance(self, query: Query) -> Gpac:
        share = self.cache / 100.0
        match query:
            case Range() | MovingRange():
                return GpacIn(query, space=self.space, cache_share=share, longest_step=self.longest_step)
            case Nearest() | MovingNearest():
                return GpacKnn(query, space=self.space, cache_share=share, longest_step=self.longest_step)

    def _withdraw(self, t: float, name: Id) -> Iterator[Update]:
        if query := self.queries.pop(name, None):
            yield from (Update(t, name, Sign.NEGATIVE, identity) for identity in query.answer)

    def _disconnect(self, t: float, timeout: float) -> Iterator[Update]:
        for silent in [identity for identity, last in self.last.items() if t - last >= timeout]:
            del self.last[silent]
            for name, query in self.queries.items():
                for sign, identity in query.disconnect(silent):
                    yield Update(t, name, sign, identity)


def net(updates: Iterable[Update]) -> list[Update]:
    """Of the updates of one time unit, those that are not taken back within it, in the order of an updates file."""
    balance: dict[tuple[Id, Id], int] = {}
    t = 0.0
    for update in updates:
        t, key = update.t, (update.query, update.object)
        balance[key] = balance.get(key, 0) + (1 if update.sign is Sign.POSITIVE else -1)
    lasting = [
        Update(t, query, Sign.POSITIVE if sum_ > 0 else Sign.NEGATIVE, identity)
        for (query, identity), sum_ in balance.items()
        if sum_
    ]
    return sorted(lasting, key=lambda one: (id_order(one.query), one.sign is Sign.POSITIVE, id_order(one.object)))
