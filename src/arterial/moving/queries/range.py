"""GPAC-IN: all objects in a rectangle, which stands still or moves with a focal object (§4.1)."""

from __future__ import annotations

from arterial.moving.queries.anticipation import RANGE_STEPS, rectangle_margin
from arterial.moving.queries.events import MovingRange, Range
from arterial.moving.queries.geometry import Point, in_moving_range, in_range
from arterial.moving.queries.skeleton import Gpac, Located
from arterial.moving.queries.space import Space


class GpacIn(Gpac):
    """The objects in a rectangle. One that stands still needs no cache: its area never changes."""

    def __init__(
        self,
        query: Range | MovingRange,
        *,
        space: Space = Space.PLANE,
        cache_share: float = 1.0,
        longest_step: float = 0.0,
    ) -> None:
        self.query, self.space = query, space
        self.focal = query.focal if isinstance(query, MovingRange) else None
        self.centre: Point = (0.0, 0.0)
        super().__init__(cache_share=cache_share, longest_step=longest_step)

    def satisfy(self, p: Located) -> bool:
        if isinstance(self.query, Range):
            return in_range(self.space, self.query, p.at)
        return in_moving_range(self.space, self.query, self.centre, p.at)

    def in_cache_area(self, p: Located) -> bool:
        if isinstance(self.query, Range):
            return False
        length, width = self.query.xdist, self.query.ydist
        margin = rectangle_margin(length, width, RANGE_STEPS * self.longest_step, self.cache_share)
        larger = MovingRange(self.query.focal, length + 2 * margin, width + 2 * margin)
        return in_moving_range(self.space, larger, self.centre, p.at)

    def is_dynamic(self) -> bool:
        return self.focal is not None

    def update(self, p: Located) -> None:
        if p.object == self.focal:
            self.centre = p.at
