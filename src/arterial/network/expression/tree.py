"""The tree of an expression: literals, columns and calls, every one with its type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arterial.errors import NetworkError, near
from arterial.network.schema import Type


@dataclass(frozen=True)
class Literal:
    """A constant. Its type is None for `null`, which fits every type. A timestamp is held in microseconds."""

    value: int | float | bool | str | None
    type: Type | None


@dataclass(frozen=True)
class Column:
    """A column of the tuple."""

    name: str
    type: Type | None


@dataclass(frozen=True)
class Call:
    """A function of other trees. Its arguments already have the types that the function works on."""

    function: str
    arguments: tuple[Tree, ...]
    type: Type | None


Tree = Literal | Column | Call

AGGREGATES = frozenset(
    {
        "count", "count_distinct", "sum", "min", "max", "avg", "first", "last", "stddev", "window_start",
        "percentile", "approx_percentile",
    }
)  # fmt: skip
"""The functions over a window, allowed where a box has windows."""


def reads(tree: Tree) -> tuple[str, ...]:
    """The columns that a tree reads, each once, in the order of their first use."""
    return tuple(dict.fromkeys(part.name for part in walk(tree) if isinstance(part, Column)))


def walk(tree: Tree) -> Iterator[Tree]:
    """The tree and all its parts."""
    yield tree
    if isinstance(tree, Call):
        for argument in tree.arguments:
            yield from walk(argument)


def known_column(name: str, names: Iterable[str], of: str = "the stream") -> str:
    """The name, if it is one of those; else an error with the nearest name."""
    names = tuple(names)
    if name in names:
        return name
    if not isinstance(name, str):
        raise NetworkError(f"expected the name of a column of {of}, got {name!r}; it has: {', '.join(names)}")
    raise NetworkError(f"there is no column {name!r} in {of}; it has: {', '.join(names)}{near(name, names)}")


def common_type(types: Iterable[Type | None], what: str) -> Type | None:
    """The type that values of all these types can take: equal types stay, numbers widen."""
    given = list(dict.fromkeys(t for t in types if t is not None))
    if len(given) <= 1:
        return given[0] if given else None
    if all(t.is_integer for t in given):
        return Type.INT64
    if all(t.is_number for t in given):
        return Type.FLOAT64
    raise NetworkError(f"{what} needs values of one type, got {', '.join(given)}")


def cast(tree: Tree, to: Type) -> Tree:
    """The tree as that type, unchanged if it has it."""
    if tree.type is to:
        return tree
    if isinstance(tree, Literal) and tree.value is None:
        return Literal(None, to)
    return Call("cast", (tree,), to)


def share_of(call: Call) -> float:
    """Of a call of a percentile: which one, from 0 to 1."""
    share = call.arguments[1]
    assert isinstance(share, Literal)
    return float(share.value or 0)
