"""What a call of a box costs by itself, and what each of its tuples costs, by the steps of the last minutes.

In short trains a tuple seems to cost more, since it bears more of the call. Who plans by that leaves out more, which
makes trains shorter still. Steps with few and with many tuples tell the two apart. When a plan is in force all steps
are alike, so older ones count too, less and less.
"""

from __future__ import annotations

from dataclasses import dataclass

COLD = 2
"""The first calls load libraries and compile, and say nothing of the others."""
HALF_LIFE = 30.0
"""After so many seconds a step counts half."""
ENOUGH = 5.0
"""So many steps tell the two apart, at least,"""
SPREAD = 0.3
"""if the numbers of their tuples differ by this share of their mean (the standard deviation)."""
ODD = 2.0
"""A call that took so many times what is usual counts as this: the machine had paused."""
IN_A_ROW = 3
"""So many such calls in a row are no pauses: the box has other work than before, and what was usual says nothing."""
NONSENSE = -0.5
"""Where the mean call has such a share of its seconds by its tuples, something else was slow: nothing is known."""
MOST = 0.01
"""A call costs at most so many seconds; what seems to be more is that tuples cost more at one time than at another."""
LEAST = 0.05
"""A tuple costs at least this share of what it seems to cost with all of the call."""


@dataclass(frozen=True)
class Line:
    """A fixed part, and one for each tuple."""

    fixed: float
    per_tuple: float

    def at(self, tuples: float) -> float:
        """The value for so many tuples."""
        return self.fixed + self.per_tuple * tuples


class Calls:
    """The calls of one box, as weighted sums: a line of least squares over the number of tuples."""

    def __init__(self) -> None:
        self._born, self._seen, self._odd = 0.0, 0, 0
        self._forget()

    def _forget(self) -> None:
        self._calls = self._tuples = self._seconds = self._squares = self._products = 0.0

    def add(self, born: float, tuples: int, seconds: float) -> None:
        """Count the call of a step that was planned at a time.

        >>> calls = Calls()
        >>> for second, tuples in enumerate((5, 5, 10, 20, 80, 160, 40, 10, 20)):
        ...     calls.add(float(second), tuples, 0.002 + 0.001 * tuples)
        >>> cost = calls.cost
        >>> round(cost.fixed, 6), round(cost.per_tuple, 6)
        (0.002, 0.001)
        """
        self._seen += 1
        if self._seen <= COLD:
            return
        usual = self.cost
        if usual is not None:
            most = ODD * usual.at(tuples)
            self._odd = self._odd + 1 if seconds > most else 0
            if self._odd < IN_A_ROW:
                seconds = min(seconds, most)
            else:
                self._forget()
        fade = 0.5 ** (max(0.0, born - self._born) / HALF_LIFE) if self._calls else 1.0
        self._born = max(born, self._born)
        self._calls = fade * self._calls + 1
        self._tuples = fade * self._tuples + tuples
        self._seconds = fade * self._seconds + seconds
        self._squares = fade * self._squares + tuples * tuples
        self._products = fade * self._products + tuples * seconds

    @property
    def cost(self) -> Line | None:
        """None as long as the steps do not tell the two apart."""
        if self._calls < ENOUGH or not self._tuples:
            return None
        mean, seconds = self._tuples / self._calls, self._seconds / self._calls
        variance = self._squares / self._calls - mean * mean
        if variance < (SPREAD * mean) ** 2:
            return None
        slope = (self._products / self._calls - mean * seconds) / variance
        if slope * mean < NONSENSE * seconds:
            return None
        each = min(max(slope, LEAST * seconds / mean), seconds / mean)
        call = min(MOST, seconds - each * mean)
        return Line(call, (seconds - call) / mean)
