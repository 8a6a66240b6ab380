"""What the parts of the parser share: checks of types, and trees that are made of other trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from arterial.errors import NetworkError
from arterial.network.expression.tree import Call, Literal, Tree, cast, common_type
from arterial.network.schema import Schema, Type

MIN_INT, MAX_INT = -(2**63), 2**63 - 1


def shortened(text: str) -> str:
    """An expression as a message shows it.

    >>> shortened("x > 1"), len(shortened("x" * 1000))
    ("'x > 1'", 203)
    """
    return repr(text if len(text) <= 200 else f"{text[:200]}…")


class Binder(ABC):
    """Reads sqlglot's tree of an expression over tuples of a schema."""

    def __init__(self, text: str, schema: Schema, window: Type | None) -> None:
        self.text = text
        self.schema = schema
        self.window = window
        self.inside_aggregate = False

    @abstractmethod
    def tree(self, part: Any) -> Tree:
        """The tree of a part."""

    def _error(self, message: str) -> NetworkError:
        return NetworkError(f"expression {shortened(self.text)}: {message}")

    def _choice(self, arguments: list[Tree]) -> Tree:
        places = [*range(1, len(arguments) - 1, 2), len(arguments) - 1]
        kind = self._common([arguments[i] for i in places], "case")
        for i in places:
            arguments[i] = arguments[i] if kind is None else cast(arguments[i], kind)
        return Call("case", tuple(arguments), kind)

    def _numeric(self, function: str, argument: Any) -> Tree:
        value = self._number(argument)
        kind = Type.FLOAT64 if value.type is Type.FLOAT64 else Type.INT64
        return Call(function, (cast(value, kind),), kind)

    def _arithmetic(self, function: str, left: Tree, right: Tree) -> Tree:
        if function == "-" and left.type is Type.TIMESTAMP and right.type is Type.TIMESTAMP:
            return Call("-", (cast(left, Type.INT64), cast(right, Type.INT64)), Type.INT64)
        for side in (left, right):
            if not (side.type is None or side.type.is_number):
                raise self._error(f"`{function}` needs numbers, got {side.type}")
        kind = Type.FLOAT64 if Type.FLOAT64 in (left.type, right.type) else Type.INT64
        return Call(function, (cast(left, kind), cast(right, kind)), kind)

    def _comparison(self, function: str, left: Tree, right: Tree) -> Tree:
        if Type.TIMESTAMP in (left.type, right.type):
            left, right = self._as_instant(left), self._as_instant(right)
        kind = self._common([left, right], f"`{function}`")
        if kind is not None and kind.is_integer:
            kind = Type.INT64
        if kind is None:
            return Literal(None, Type.BOOL)
        return Call(function, (cast(left, kind), cast(right, kind)), Type.BOOL)

    def _as_instant(self, tree: Tree) -> Tree:
        if isinstance(tree, Literal) and isinstance(tree.value, str):
            return Literal(self._instant(tree.value), Type.TIMESTAMP)
        return tree

    def _common(self, trees: list[Tree], what: str) -> Type | None:
        try:
            return common_type((tree.type for tree in trees), what)
        except NetworkError as mistake:
            raise self._error(str(mistake)) from None

    def _condition(self, part: Any) -> Tree:
        tree = self.tree(part)
        if tree.type is None:
            return Literal(None, Type.BOOL)
        if tree.type is not Type.BOOL:
            raise self._error(f"expected a condition (bool), got {tree.type} from {part.sql(dialect='duckdb')!r}")
        return tree

    def _number(self, part: Any) -> Tree:
        tree = self.tree(part)
        if tree.type is None:
            return cast(tree, Type.INT64)
        if not tree.type.is_number:
            raise self._error(f"expected a number, got {tree.type} from {part.sql(dialect='duckdb')!r}")
        return tree

    def _text(self, part: Any) -> Tree:
        tree = self.tree(part)
        if tree.type is None:
            return cast(tree, Type.STRING)
        if tree.type is not Type.STRING:
            raise self._error(f"expected text, got {tree.type} from {part.sql(dialect='duckdb')!r}")
        return tree

    def _float(self, part: Any) -> Tree:
        return cast(self._number(part), Type.FLOAT64)

    def _time(self, part: Any, function: str) -> Tree:
        tree = self._as_instant(self.tree(part))
        if tree.type not in (Type.TIMESTAMP, None):
            raise self._error(
                f"{function} needs a timestamp, got {tree.type}; of seconds since 1970, to_timestamp(…) makes one"
            )
        return cast(tree, Type.TIMESTAMP)

    def _whole_constant(self, part: Any, what: str, least: int, most: int) -> int:
        tree = self.tree(part)
        if (
            isinstance(tree, Literal)
            and tree.type is Type.INT64
            and isinstance(tree.value, int)
            and least <= tree.value <= most
        ):
            return tree.value
        raise self._error(f"{what} must be a constant integer from {least} to {most}")

    def _text_constant(self, part: Any, what: str) -> str:
        tree = self.tree(part)
        if isinstance(tree, Literal) and isinstance(tree.value, str):
            return tree.value
        raise self._error(f"{what} must be a constant text")

    def _case(self, *arguments: Tree) -> Tree:
        """A choice: condition, value, condition, value …, otherwise."""
        return self._choice(list(arguments))

    def _instant(self, text: str) -> int:
        from datetime import UTC, datetime

        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise self._error(f"expected a timestamp such as '2026-11-15 20:00:00', got {text!r}") from None
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
