"""What is said of a vehicle at a second: its answers, with the rules that gave them and what those looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arterial.linearroad.semantics.city import EAST, EXIT_LANE, MINUTE_SECONDS, SEGMENT_FEET, minute_of

MOST_ROWS = 12
"""So many rows of a table are printed; the page and JSON have them all."""


@dataclass(frozen=True)
class Reason:
    """What one rule, or some, said, by the numbers of docs/linear-road/semantics.md."""

    rule: str
    text: str


@dataclass(frozen=True)
class Figures:
    """The figures that a rule looked at."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Answer:
    """An answer, or that there was none."""

    kind: str
    """toll notice, no toll notice, accident alert, account balance, daily expenditure, travel time."""
    says: str
    values: dict[str, int]
    """The values of the answer, and those that it was made of."""
    reasons: tuple[Reason, ...]
    figures: tuple[Figures, ...] = ()


@dataclass(frozen=True)
class Explained:
    """Why a vehicle was answered as it was at a second."""

    data: str
    profile: str
    vid: int
    time: int
    answers: tuple[Answer, ...]

    def as_data(self) -> dict[str, Any]:
        """What JSON can hold."""
        return {**asdict(self), "minute": minute_of(self.time)}

    def lines(self) -> list[str]:
        """It as text to read."""
        lines = [f"vehicle {self.vid} at {moment(self.time)}, profile {self.profile}"]
        for answer in self.answers:
            lines += ["", f"{answer.kind}: {answer.says}"]
            lines += [f"  {label(reason.rule):>11}  {reason.text}" for reason in answer.reasons]
            for table in answer.figures:
                lines += ["", *(f"  {line}" for line in text_of(table))]
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def label(rule: str) -> str:
    """A rule, or some, by their numbers.

    >>> label("6"), label("1–3")
    ('rule 6', 'rules 1–3')
    """
    return f"rule{'s' if any(sign in rule for sign in '–,') else ''} {rule}"


def text_of(table: Figures) -> list[str]:
    """A table as lines."""
    rows = [tuple(shown(value) for value in row) for row in table.rows]
    cells = [table.heads, *rows[:MOST_ROWS]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.heads))]
    lines = [table.title]
    lines += ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return [*lines, f"  … and {len(rows) - MOST_ROWS:,} more"] if len(rows) > MOST_ROWS else lines


def shown(value: Any) -> str:
    """A figure, in words."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def moment(time: int) -> str:
    """A second, with its minute.

    >>> moment(125)
    'second 125 (0:02:05, minute 3)'
    """
    return f"second {time:,} ({clock(time)}, minute {minute_of(time)})"


def clock(time: int) -> str:
    """Hours, minutes and seconds since the start.

    >>> clock(3725)
    '1:02:05'
    """
    minutes, seconds = divmod(time, MINUTE_SECONDS)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"


def place(xway: int, direction: int, seg: int) -> str:
    """A segment, in words."""
    return f"segment {seg} of expressway {xway}, {'eastbound' if direction == EAST else 'westbound'}"


def lane_in_words(lane: int) -> str:
    """A lane, in words."""
    return {0: "the entrance lane (0)", EXIT_LANE: "the exit lane (4)"}.get(lane, f"lane {lane}")


def mile(pos: int) -> str:
    """A position in feet, in words.

    >>> mile(5280)
    'mile 1.00 (foot 5,280)'
    """
    return f"mile {pos / SEGMENT_FEET:.2f} (foot {pos:,})"


def several(some: Sequence[Any], word: str = "and") -> str:
    """Things in a row.

    >>> several([1, 2, 3])
    '1, 2 and 3'
    """
    texts = [str(one) for one in some]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}"
