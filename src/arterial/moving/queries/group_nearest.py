"""An instance of the skeleton of one's own: the k objects with the least sum of distances to a group of places.

Group nearest neighbour (§4, after Papadias and others): "which taxi should three friends share?". The area is not a
circle, but the skeleton does not mind: a tuple satisfies the query if its sum is not above that of the k-th.
"""

from __future__ import annotations

import math

from arterial.moving.queries.geometry import Point, distance
from arterial.moving.queries.ids import Id, id_order
from arterial.moving.queries.nearest import ANYTHING, Nearness
from arterial.moving.queries.skeleton import Gpac, Located
from arterial.moving.queries.space import Space


class GpacGroup(Gpac):
    """The k objects nearest to a group of places.

    >>> taxi = GpacGroup([(0.0, 0.0), (10.0, 0.0)], k=1)
    >>> [(sign.value, who) for sign, who in taxi.receive(Located("a", (20.0, 0.0)))]
    [('+', 'a')]
    >>> [(sign.value, who) for sign, who in taxi.receive(Located("b", (4.0, 0.0)))]
    [('+', 'b'), ('-', 'a')]
    """

    def __init__(
        self,
        places: list[Point],
        *,
        k: int,
        space: Space = Space.PLANE,
        cache_share: float = 1.0,
        longest_step: float = 0.0,
    ) -> None:
        self.places, self.k, self.space = places, k, space
        self.farthest: Nearness = ANYTHING
        super().__init__(cache_share=cache_share, longest_step=longest_step)

    def satisfy(self, p: Located) -> bool:
        return self._nearness(p.object, p.at) <= self.farthest

    def in_cache_area(self, p: Located) -> bool:
        # When the k-th goes a step away its sum grows by a step for each place: that much further may be needed.
        reach = self.cache_share * self.longest_step * len(self.places)
        return self.cache_share > 0.0 and self._nearness(p.object, p.at)[0] <= self.farthest[0] + reach

    def is_dynamic(self) -> bool:
        return True

    def update(self, p: Located) -> None:
        known = sorted(self._nearness(identity, at) for identity, at in (self.answer | self.cache).items())
        self.farthest = known[self.k - 1] if len(known) >= self.k else ANYTHING

    def _nearness(self, identity: Id, at: Point) -> Nearness:
        return math.fsum(distance(self.space, place, at) for place in self.places), id_order(identity)
