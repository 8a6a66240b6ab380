"""Accidents by the rules of profile `walmart`: the first two cars stopped at a spot, one accident a segment, ever.

The cars that stop, and the moves of those that are recorded, are few; so this part is plain Python over dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base import chunks
from arterial.network.state import State

NOT_CLEARED = -1


@dataclass
class Accident:
    """An accident of two recorded cars, with its minute and that in which the first of them moved."""

    cars: tuple[int, int]
    minute: int
    cleared: int = NOT_CLEARED


@dataclass
class FirstTwo:
    """The recorded cars of every spot (road, lane and pos packed), and the one accident of every cell."""

    spots: dict[int, list[int]] = field(default_factory=dict)
    accidents: dict[int, Accident] = field(default_factory=dict)

    @classmethod
    def read(cls, state: State) -> FirstTwo:
        """As the last train left it."""
        known = cls()
        if (chunk := chunks.read(state, "stops")) is None:
            return known
        for spot, car in zip(chunk["spot"].tolist(), chunk["car"].tolist(), strict=True):
            known.spots.setdefault(spot, []).append(car)
        names = ("cell", "one", "other", "minute", "cleared")
        for cell, one, other, minute, cleared in zip(*(chunk[name].tolist() for name in names), strict=True):
            known.accidents[cell] = Accident((one, other), minute, cleared)
        return known

    def write(self, state: State) -> None:
        """Keep it for the next train."""
        accidents = [(cell, *a.cars, a.minute, a.cleared) for cell, a in self.accidents.items()]
        rows = np.array(accidents, np.int64).reshape(-1, 5)
        cars = np.array([(spot, car) for spot, cars in self.spots.items() for car in cars], np.int64).reshape(-1, 2)
        names = ("cell", "one", "other", "minute", "cleared")
        columns = {name: rows[:, i].copy() for i, name in enumerate(names)}
        state.put("stops", "", {"spot": cars[:, 0].copy(), "car": cars[:, 1].copy(), **columns})

    def recorded(self) -> Array:
        """The cars whose moves matter."""
        cars = {car for spot in self.spots.values() for car in spot}
        cars |= {car for a in self.accidents.values() if a.cleared == NOT_CLEARED for car in a.cars}
        return np.array(sorted(cars), np.int64)

    def in_effect(self, minute: int) -> Array:
        """The cells whose accident has effect in a minute."""
        cells = [
            cell
            for cell, a in self.accidents.items()
            if a.minute < minute and (a.cleared == NOT_CLEARED or a.cleared >= minute)
        ]
        return np.array(cells, np.int32)

    def take(
        self, minute: int, moves: Iterable[tuple[int, int, int, int]], stops: Iterable[tuple[int, int, int, int]]
    ) -> None:
        """Moves and stops of a minute, each (time, vid, spot, cell) in order; the moves of a second come first."""
        events = [(time, 0, vid, spot, cell) for time, vid, spot, cell in moves]
        events += [(time, 1, vid, spot, cell) for time, vid, spot, cell in stops]
        for _, kind, vid, spot, cell in sorted(events, key=lambda event: event[:2]):
            if kind == 0:
                self._move(vid, spot, cell, minute)
            else:
                self._stop(vid, spot, cell, minute)

    def _move(self, vid: int, spot: int, cell: int, minute: int) -> None:
        cars = self.spots.get(spot, [])
        if vid in cars:
            cars.remove(vid)
            if not cars:
                del self.spots[spot]
        accident = self.accidents.get(cell)
        if accident is not None and vid in accident.cars and accident.cleared == NOT_CLEARED:
            accident.cleared = minute

    def _stop(self, vid: int, spot: int, cell: int, minute: int) -> None:
        cars = self.spots.setdefault(spot, [])
        if len(cars) >= 2 or vid in cars:
            return
        cars.append(vid)
        if len(cars) == 2 and cell not in self.accidents:
            self.accidents[cell] = Accident((cars[0], cars[1]), minute)
