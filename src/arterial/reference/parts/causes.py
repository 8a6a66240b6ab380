"""What boxes say of their causes: which tuples they made a tuple of, and which ones could have changed it.

Beside its meaning a box has two functions. `because` gives the tuples of its inputs that it made one tuple of, by their
places in the list, and a sentence. `scope` says how far back and in which groups its inputs must be known for a part of
its output: what lies outside of that cannot change it. A box that does not have them says the most that is true of any
box: all of the group's tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from arterial.errors import NetworkError
from arterial.network.box import IN, Box, Stream
from arterial.network.expression.function import Function
from arterial.reference.parts.module import module_of
from arterial.reference.parts.scalar import instant_to_value, value_to_instant
from arterial.reference.parts.stream import Tuples, group_of

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Because:
    """Which tuples of its inputs a box made a tuple of, by port and place, and what it did, in a sentence."""

    used: Mapping[str, tuple[int, ...]]
    words: str


@dataclass(frozen=True)
class Region:
    """Some tuples of a stream: from one instant through another, with one of some values in some columns."""

    begin: float = -math.inf
    end: float = math.inf
    where: Mapping[str, frozenset[Any]] = field(default_factory=dict)

    def has(self, values: Values, time: str) -> bool:
        """Whether it contains a tuple of a stream with that time."""
        if values[time] is not None and not self.begin <= value_to_instant(values[time]) <= self.end:
            return False
        return all(group_of(values, (name,))[0] in some for name, some in self.where.items())

    def between(self, begin: float, end: float, names: Iterable[str] = ()) -> Region:
        """Other instants, and of the columns only these."""
        return Region(begin, end, {name: self.where[name] for name in names if name in self.where})

    def only(self, names: Iterable[str]) -> Region:
        """The same instants, and of the columns only these."""
        return self.between(self.begin, self.end, names)

    def renamed(self, names: Iterable[tuple[str, str]]) -> Region:
        """The same instants; of the columns those pairs of an old and a new name."""
        return Region(self.begin, self.end, {new: self.where[old] for old, new in names if old in self.where})

    def united(self, other: Region) -> Region:
        """A region that contains both."""
        where = {name: some | other.where[name] for name, some in self.where.items() if name in other.where}
        return Region(min(self.begin, other.begin), max(self.end, other.end), where)


EVERYTHING = Region()

BecauseOf = Callable[[Any, dict[str, Tuples], dict[str, Tuples], str, int], Because]
"""From the box, all tuples of its inputs and of its outputs, an output port and the place of a tuple there."""

ScopeOf = Callable[[Any, str, Region], dict[str, Region]]
"""From the box, an output port and a part of its stream, to the parts of its inputs that could change that."""


def because_of(box: Box, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """What a box says of one tuple that it gave."""
    say: BecauseOf | None = _function(box, "because", box.because)
    return say(box, inputs, outputs, port, place) if say else _whole_group(box, inputs, outputs[port][place], port)


def scope_of(box: Box, port: str, region: Region) -> dict[str, Region]:
    """The parts of the inputs of a box that could change a part of its output."""
    say: ScopeOf | None = _function(box, "scope", box.scope)
    return say(box, port, region) if say else _same_groups(box, port, region)


def place_of(tuples: Tuples, values: Values) -> int:
    """The place of a tuple, the very object, in a list."""
    return next(place for place, one in enumerate(tuples) if one is values)


def passed_on(box: Box, port: str, region: Region) -> dict[str, Region]:
    """The scope of a box that lets every tuple through as it is, or not at all, whatever the others are."""
    return {name: region.only(stream.schema.names) for name, stream in box.fed_by.items()}


def so_far(region: Region, names: Iterable[str]) -> Region:
    """All tuples up to the end of a region, of the groups that these columns make."""
    return region.between(-math.inf, region.end, names)


def group_so_far(box: Box, port: str, region: Region) -> dict[str, Region]:
    """The scope of a box whose one input counts from its beginning on, group by group."""
    return {IN: so_far(region, box.fed_by[IN].keyed_by)}


def listed(values: Values, names: Iterable[str]) -> str:
    """Some values of a tuple, in words.

    >>> listed({"speed": 120, "lane": None, "x": 1}, ("speed", "lane"))
    'speed = 120, lane = null'
    """
    return ", ".join(f"{name} = {shown(values[name])}" for name in names)


def group_in_words(values: Values, stream: Stream) -> str:
    """The group of a tuple, in words; of a stream without groups nothing."""
    return f" of {listed(values, stream.keyed_by)}" if stream.keyed_by else ""


def shown(value: Any) -> str:
    """A value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, str) else f"{value}"


def shown_instant(instant: int, stream: Stream) -> str:
    """An instant of a stream, in words."""
    return shown(instant_to_value(instant, stream.schema[stream.time]))


def condition_text(predicate: str | Function) -> str:
    """A condition as the user wrote it; a function by its name."""
    return predicate.place.rpartition(":")[2] if isinstance(predicate, Function) else predicate


def counted(number: int, what: str = "tuple") -> str:
    """A number of things.

    >>> counted(1), counted(1200)
    ('1 tuple', '1,200 tuples')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _whole_group(box: Box, inputs: dict[str, Tuples], values: Values, port: str) -> Because:
    """What is true of any box: it may have looked at all tuples of the group."""
    keys = _kept_keys(box, port)
    used = {}
    for name, tuples in inputs.items():
        same = keys.get(name, ())
        group = group_of(values, same)
        used[name] = tuple(i for i, one in enumerate(tuples) if group_of(one, same) == group)
    named = next((same for same in keys.values() if same), ())
    of = f"with {listed(values, named)}" if named else "that it may have looked at"
    number = sum(map(len, used.values()))
    return Because(used, f"a {box.kind} does not say what it looks at: all {counted(number)} {of}")


def _same_groups(box: Box, port: str, region: Region) -> dict[str, Region]:
    return {name: Region(where=region.only(keys).where) for name, keys in _kept_keys(box, port).items()}


def _kept_keys(box: Box, port: str) -> dict[str, tuple[str, ...]]:
    """For each input of a box the columns of its groups, if those of the output have the same."""
    out = box.streams(box.fed_by)[port].keyed_by
    return {name: stream.keyed_by if stream.keyed_by == out else () for name, stream in box.fed_by.items()}


def _function(box: Box, name: str, place: str) -> Any:
    """The function of a box's class with that name: where the class says, or in the module here of the kind's name."""
    own = module_of(type(box))
    if not place and own:
        place = f"{own}:{name}"
        if not hasattr(import_module(own), name):
            return None
    if not place:
        return None
    module, _, function = place.partition(":")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise NetworkError(f"cannot find the {name!r} of a {box.kind!r}, {place}: {error}") from None
