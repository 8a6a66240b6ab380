"""GPAC-kNN: the k objects nearest to a point, which stands still or moves with a focal object (§4.2)."""

from __future__ import annotations

import math

from arterial.moving.queries.anticipation import MOVING_NEAREST_STEPS, NEAREST_STEPS, circle_margin
from arterial.moving.queries.events import MovingNearest, Nearest
from arterial.moving.queries.geometry import Point, distance, squared
from arterial.moving.queries.ids import Id, id_order
from arterial.moving.queries.skeleton import Gpac, Located
from arterial.moving.queries.space import Space

Nearness = tuple[float, tuple[int, int, str]]
ANYTHING: Nearness = (math.inf, (2, 0, ""))


class GpacKnn(Gpac):
    """The k nearest objects. Its area is the circle through the k-th; with fewer than k known, everything."""

    def __init__(
        self,
        query: Nearest | MovingNearest,
        *,
        space: Space = Space.PLANE,
        cache_share: float = 1.0,
        longest_step: float = 0.0,
    ) -> None:
        self.query, self.space = query, space
        self.centre: Point = (0.0, 0.0)
        if isinstance(query, Nearest):
            self.centre = (query.x, query.y)
        else:
            self.focal = query.focal
        self.farthest: Nearness = ANYTHING
        self.radius = math.inf
        super().__init__(cache_share=cache_share, longest_step=longest_step)

    def satisfy(self, p: Located) -> bool:
        return self._nearness(p.object, p.at) <= self.farthest

    def in_cache_area(self, p: Located) -> bool:
        if self.radius == math.inf:
            return True
        steps = NEAREST_STEPS if self.focal is None else MOVING_NEAREST_STEPS
        margin = circle_margin(self.radius, steps * self.longest_step, self.cache_share)
        return self.cache_share > 0.0 and distance(self.space, self.centre, p.at) <= self.radius + margin

    def is_dynamic(self) -> bool:
        return True

    def update(self, p: Located) -> None:
        if p.object == self.focal:
            self.centre = p.at
        known = sorted((self._nearness(identity, at), at) for identity, at in (self.answer | self.cache).items())
        if len(known) < self.query.k:
            self.farthest, self.radius = ANYTHING, math.inf
        else:
            self.farthest, at = known[self.query.k - 1]
            self.radius = distance(self.space, self.centre, at)

    def _nearness(self, identity: Id, at: Point) -> Nearness:
        return squared(self.space, self.centre, at), id_order(identity)
