"""Which polygons a point is in: a grid of cells, then a look at every side. For peers that have nothing of the kind."""

from __future__ import annotations

import json
from pathlib import Path

CELL = 10.0


class Polygons:
    """Convex polygons with their corners counter-clockwise, from a JSON file: a list of lists of x and y."""

    def __init__(self, file: str | Path) -> None:
        self.sides: list[list[tuple[float, float, float, float]]] = []
        self.near: dict[tuple[int, int], list[int]] = {}
        for number, corners in enumerate(json.loads(Path(file).read_text())):
            around = zip(corners, [*corners[1:], corners[0]], strict=True)
            self.sides.append([(x, y, following[0] - x, following[1] - y) for (x, y), following in around])
            columns, rows = ([int(corner[axis] // CELL) for corner in corners] for axis in (0, 1))
            for column in range(min(columns), max(columns) + 1):
                for row in range(min(rows), max(rows) + 1):
                    self.near.setdefault((column, row), []).append(number)

    def around(self, x: float, y: float) -> frozenset[int]:
        """The numbers of the polygons that a point is in."""
        found = self.near.get((int(x // CELL), int(y // CELL)), ())
        return frozenset(
            number for number in found if all(dx * (y - y0) >= dy * (x - x0) for x0, y0, dx, dy in self.sides[number])
        )


def events(before: frozenset[int], now: frozenset[int]) -> list[tuple[str, str]]:
    """What happened between two reports of an object: the polygon and `enter` or `exit`."""
    left = [(str(number), "exit") for number in before - now]
    return left + [(str(number), "enter") for number in now - before]
