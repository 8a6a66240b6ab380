"""The skeleton of GPAC: what every continuous query over moving objects does with a tuple (§3, figures 1, 2, 5 and 6).

A query keeps its answer, and around it a cache of the objects in the area that it may come to cover before they report
again. Four methods make a kind of query of it: `satisfy`, `in_cache_area`, `is_dynamic` and `update`. A kind of your
own is a class that has them; `group_nearest.py` is an example.

Where the figures leave something open:
- the last position of an object in the answer or the cache is kept, also when nothing else happens, as a moving query
  tests it again later;
- an object that leaves the answer of a dynamic query stays a candidate while the area is updated (figure 4b: the region
  of a nearest-neighbour query is extended to the object that moved away, if no nearer one is known);
- a moving query whose focal object has not reported, or is disconnected, has no area: it takes no objects in until its
  focal object reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from arterial.moving.queries.events import Sign
from arterial.moving.queries.geometry import Point
from arterial.moving.queries.ids import Id


@dataclass(frozen=True)
class Located:
    """A tuple: an object and where it is."""

    object: Id
    at: Point


Signed = tuple[Sign, Id]


class Gpac(ABC):
    """A continuous query. With `cache_share` 0 it is the basic algorithm of figures 1 and 2, without a cache."""

    focal: Id | None = None
    """The object that the query moves with; None if it is stationary."""

    def __init__(self, *, cache_share: float, longest_step: float) -> None:
        self.cache_share, self.longest_step = cache_share, longest_step
        self.answer: dict[Id, Point] = {}
        self.cache: dict[Id, Point] = {}
        self.has_area = self.focal is None

    @abstractmethod
    def satisfy(self, p: Located) -> bool:
        """Does a tuple satisfy the query's predicate?"""

    @abstractmethod
    def in_cache_area(self, p: Located) -> bool:
        """Does a tuple lie in the area that the query anticipates?"""

    @abstractmethod
    def is_dynamic(self) -> bool:
        """Does the area that the query covers change with its answer?"""

    @abstractmethod
    def update(self, p: Located) -> None:
        """Change the area that the query covers, and its cache's, because of a tuple (maybe the focal object's)."""

    def receive(self, p: Located) -> Iterator[Signed]:
        """Take in a tuple (figure 5): the changes of the answer, as soon as they are known."""
        if p.object == self.focal:
            self.has_area = True
            yield from self.update_criteria(p)
            return
        if not self.has_area:
            return
        if self.satisfy(p):
            known = p.object in self.answer
            self.answer[p.object] = p.at
            if known:
                return
            yield Sign.POSITIVE, p.object
            self.cache.pop(p.object, None)
            if self.is_dynamic():
                yield from self.update_criteria(p)
            return
        if p.object in self.answer:
            del self.answer[p.object]
            yield Sign.NEGATIVE, p.object
            if self.in_cache_area(p) or self.is_dynamic():
                self.cache[p.object] = p.at
            if self.is_dynamic():
                yield from self.update_criteria(p)
            return
        if self.in_cache_area(p):
            self.cache[p.object] = p.at
            return
        self.cache.pop(p.object, None)

    def update_criteria(self, p: Located) -> Iterator[Signed]:
        """Change the query's area and move objects between answer and cache accordingly (figure 6)."""
        self.update(p)
        for m in _tuples(self.cache):
            if self.satisfy(m):
                self.answer[m.object] = self.cache.pop(m.object)
                yield Sign.POSITIVE, m.object
            elif not self.in_cache_area(m):
                del self.cache[m.object]
        for m in _tuples(self.answer):
            if not self.satisfy(m):
                yield Sign.NEGATIVE, m.object
                del self.answer[m.object]
                if self.in_cache_area(m):
                    self.cache[m.object] = m.at

    def disconnect(self, silent: Id) -> Iterator[Signed]:
        """An object has been silent for too long: it leaves; if it is the focal object, the query loses its area."""
        if silent == self.focal:
            self.has_area = False
            yield from ((Sign.NEGATIVE, member) for member in self.answer)
            self.answer.clear()
            self.cache.clear()
            return
        self.cache.pop(silent, None)
        if silent in self.answer:
            gone = Located(silent, self.answer.pop(silent))
            yield Sign.NEGATIVE, silent
            if self.is_dynamic():
                yield from self.update_criteria(gone)


def _tuples(kept: dict[Id, Point]) -> list[Located]:
    return [Located(identity, at) for identity, at in kept.items()]
