"""What is said of a row: its tuples by number, what each box did, and without which tuples it would be another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import Any

from arterial.reference.parts.causes import counted, shown

MOST_SHOWN = 12
"""So many tuples of a box are printed; JSON has them all."""


@dataclass(frozen=True)
class Numbered:
    """A tuple on the way to the row. One that passes a box unchanged keeps its number."""

    number: int
    values: Mapping[str, Any]
    source: str = ""
    """The source that it came by; of a tuple that a box made, nothing."""
    needed: bool | None = None
    """Of a source's tuple, whether the row changes without it; None if that was not tried, or it is not a source's."""


@dataclass(frozen=True)
class Said:
    """What a box did to give a tuple, in its own words."""

    box: str
    kind: str
    made: int
    made_of: tuple[int, ...]
    words: str

    @property
    def passes(self) -> bool:
        """Whether the tuple went through as it was, and no other had a part in it."""
        return self.made_of == (self.made,)


@dataclass(frozen=True)
class Explanation:
    """Why a row is as it is."""

    network: str
    output: str
    row: Mapping[str, Any]
    steps: tuple[Said, ...]
    """What the boxes did, from the output back to the sources."""
    tuples: tuple[Numbered, ...]
    """All tuples that the steps name; the first is the row."""
    also_needed: tuple[Numbered, ...]
    """Tuples that the row was not made of, and without which it would not be there: others would get in its way."""
    equal: int = 1
    """How many rows are equal to this one; a tuple is needed if there is one less without it."""
    in_scope: int = 0
    """How many tuples of the sources could have changed the row, by their group and time."""
    tried: int = 0
    """How many of them were left out, one after the other, to see whether the row changes."""
    notes: tuple[str, ...] = field(default=())

    @property
    def causes(self) -> tuple[Numbered, ...]:
        """The tuples of the sources without which the row is not there, or is another one."""
        return tuple(one for one in (*self.tuples, *self.also_needed) if one.needed)

    @property
    def witnesses(self) -> tuple[Numbered, ...]:
        """The tuples of the sources that the row was made of, but that could be left out one at a time."""
        return tuple(one for one in self.tuples if one.needed is False)

    def as_data(self) -> dict[str, Any]:
        """What JSON can hold."""
        return {
            "network": self.network,
            "output": self.output,
            "row": plain(self.row),
            "equal": self.equal,
            "in_scope": self.in_scope,
            "tried": self.tried,
            "causes": [one.number for one in self.causes],
            "witnesses": [one.number for one in self.witnesses],
            "steps": [{**asdict(one), "made_of": list(one.made_of)} for one in self.steps],
            "tuples": [_as_data(one) for one in self.tuples],
            "also_needed": [_as_data(one) for one in self.also_needed],
            "notes": list(self.notes),
        }

    def by_box(self) -> list[tuple[str, str, list[Said]]]:
        """What each box did, with its name and kind, from the output back to the sources."""
        found: dict[str, tuple[str, str, list[Said]]] = {}
        for one in self.steps:
            found.setdefault(one.box, (one.box, one.kind, []))[2].append(one)
        return list(found.values())

    def by_source(self) -> dict[str, list[Numbered]]:
        """The tuples of each source that the row was made of."""
        found: dict[str, list[Numbered]] = {}
        for one in self.tuples:
            if one.source:
                found.setdefault(one.source, []).append(one)
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """It as text to read."""
        lines = [f"{self.output}  #1  {in_words(self.row)}"]
        if self.equal > 1:
            lines.append(f"  {self.equal:,} rows are equal to it; this is the first")
        values = {one.number: one.values for one in self.tuples}
        for name, kind, steps in self.by_box():
            lines += ["", f"{name} ({kind})"]
            alike = together(steps)
            for some in alike[:MOST_SHOWN]:
                step = some[0]
                if step.passes:
                    verb = "passes" if len(some) == 1 else "pass"
                    lines.append(f"  {numbers(one.made for one in some)} {verb}: {step.words}")
                else:
                    itself = "" if step.made == 1 else f"  {in_words(values[step.made])}"
                    lines.append(f"  #{step.made}{itself}")
                    lines.append(f"      from {numbers(step.made_of)}: {step.words}")
            lines += _more(len(alike))
        for name, tuples in self.by_source().items():
            lines += ["", f"{name} (source)"]
            lines += [f"  #{one.number}  {in_words(one.values)}   {_NEEDED[one.needed]}" for one in tuples[:MOST_SHOWN]]
            lines += _more(len(tuples))
        if self.also_needed:
            lines += ["", "also needed: without one of these, other tuples would get in the way of the row"]
            lines += [f"  #{one.number}  {one.source}: {in_words(one.values)}" for one in self.also_needed[:MOST_SHOWN]]
            lines += _more(len(self.also_needed))
        return [*lines, "", self.summary, *(f"note: {note}" for note in self.notes)]

    @property
    def summary(self) -> str:
        """How many tuples were needed, in words."""
        said = f"{counted(len(self.causes))} needed"
        if self.witnesses:
            said += f", {len(self.witnesses):,} more used (without any one of these alone the row stays as it is)"
        if self.tried < self.in_scope:
            return f"{said}; {self.tried:,} of {counted(self.in_scope)} of the groups and times concerned were tried"
        return f"{said}; each of {counted(self.in_scope)} of the groups and times concerned was left out once to see"


def together(steps: Iterable[Said]) -> list[list[Said]]:
    """Steps of a box; tuples that pass in a row, of which it says the same, in one list."""
    found: list[list[Said]] = []
    for step in steps:
        if found and step.passes and found[-1][0].passes and found[-1][0].words == step.words:
            found[-1].append(step)
        else:
            found.append([step])
    return found


def in_words(values: Mapping[str, Any]) -> str:
    """A tuple, on one line."""
    return "  ".join(f"{name}={shown(value)}" for name, value in values.items())


def numbers(some: Iterable[int]) -> str:
    """Numbers of tuples, those in a row as a range.

    >>> numbers([2, 3, 4, 7])
    '#2–#4, #7'
    """
    parts: list[list[int]] = []
    for number in sorted(some):
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("–".join(f"#{number}" for number in part) for part in parts) or "nothing"


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """A tuple as JSON can hold it; times as texts, and numbers that are none as null."""
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


_NEEDED = {True: "needed", False: "used", None: "used, not tried"}


def _as_data(one: Numbered) -> dict[str, Any]:
    said: dict[str, Any] = {"number": one.number, "values": plain(one.values)}
    return {**said, "source": one.source, "needed": one.needed} if one.source else said


def _more(number: int) -> list[str]:
    return [f"  … and {number - MOST_SHOWN:,} more (all of them: --json)"] if number > MOST_SHOWN else []
