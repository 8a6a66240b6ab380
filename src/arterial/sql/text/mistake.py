"""A mistake in the text of a query: the message says where, and shows the line with a caret under the place."""

from __future__ import annotations

from dataclasses import dataclass

from arterial.errors import ArterialError


@dataclass(frozen=True)
class Place:
    """A part of a text: from the character `start` up to, but not including, `end`."""

    start: int
    end: int

    def to(self, other: Place) -> Place:
        """From the beginning of this to the end of the other."""
        return Place(min(self.start, other.start), max(self.end, other.end))


class SqlError(ArterialError):
    """The text of a query is wrong at one place; `line` and `column` count from 1.

    >>> print(SqlError("the column 'b' is unknown", "SELECT a,\\n  b", Place(12, 13)))
    line 2, column 3: the column 'b' is unknown
        b
        ^
    """

    def __init__(self, what: str, text: str, place: Place) -> None:
        start = min(max(place.start, 0), len(text))
        begin = text.rfind("\n", 0, start) + 1
        end = text.find("\n", start)
        self.what, self.place = what, place
        self.line, self.column = text.count("\n", 0, start) + 1, start - begin + 1
        begin = max(begin, start - _MOST_SHOWN)
        shown = text[begin : len(text) if end < 0 else end].rstrip("\r")[: start - begin + _MOST_SHOWN]
        carets = "^" * max(1, min(_closed(text, start, place.end) - start, len(shown) - (start - begin)))
        before = "".join("\t" if sign == "\t" else " " for sign in shown[: start - begin])
        super().__init__(f"line {self.line}, column {self.column}: {what}\n  {shown}\n  {before}{carets}")


_MOST_SHOWN = 200
"""So much of a line is shown before and behind the place."""


def _closed(text: str, start: int, end: int) -> int:
    """The end, or further on, where the brackets that are open there are closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if at + 1 >= end:
            if depth <= 0:
                return max(at + 1 if depth == 0 else end, end)
            if text[at] == "\n":
                break
    return end
