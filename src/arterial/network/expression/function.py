"""Functions of the user's own in Python, which declare what they read and what they produce."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from arterial.errors import NetworkError, RunError
from arterial.network.expression.tree import known_column
from arterial.network.place import find, is_findable, only_here, place_of
from arterial.network.schema import Field, Schema


@dataclass(frozen=True)
class Function:
    """A Python function over columns, with its place ("module:name"), by which a network in JSON names it.

    Sent to another process it is found there by its place if its module is installed; else its body is sent along.
    """

    place: str
    reads: tuple[str, ...]
    produces: Schema
    body: Callable[..., Any] = dataclasses.field(repr=False)

    @classmethod
    def at(cls, place: str, reads: tuple[str, ...], produces: Schema) -> Function:
        """The function of that place, which declares to read and produce these columns."""
        found = find(place)
        body = found.body if isinstance(found, Function) else found
        if not callable(body):
            raise NetworkError(f"{place} is a {type(found).__name__}; expected a function made with @function")
        return cls(place, reads, produces, body)

    def __call__(self, *columns: Any) -> Any:
        """What the function itself gives."""
        return self.body(*columns)

    def __reduce__(self) -> tuple[Any, ...]:
        if is_findable(self.place) and not only_here(self.body.__module__):
            return Function.at, (self.place, self.reads, self.produces)
        return Function, (self.place, self.reads, self.produces, self.body)

    def check(self, schema: Schema) -> None:
        """Raise unless the stream has what it reads."""
        for name in self.reads:
            known_column(name, schema.names)


class TupleError(RunError):
    """A function raised on a tuple. Knows the box and the tuple."""

    def __init__(self, box: str, values: Mapping[str, Any], error: BaseException) -> None:
        super().__init__(f"box {box!r} failed on the tuple {dict(values)}: {type(error).__name__}: {error}")
        self.box = box
        self.values = dict(values)
        self.error = f"{type(error).__name__}: {error}"

    def __reduce__(self) -> Any:
        return (_tuple_error, (self.box, self.values, self.error))


def function(
    *, reads: str | Sequence[str], produces: Mapping[str, Any] | type | str
) -> Callable[[Callable[..., Any]], Function]:
    """Make a function a `Function`: it gets a polars Series for each column that it reads, in that order.

    `reads` may be the name of a single column.

    In a Map it returns as many values as it gets, for each column that it produces: a Series, or a tuple of them. In a
    Filter it produces one bool. As an aggregate it gets the tuples of a window and returns one value, or a tuple.
    `produces` may be a single type: the column is then named by whoever uses the function.

    Any function will do, also one of a script, of a notebook cell or inside of another function. Only JSON, which names
    it by its place, requires the top level of a module.
    """

    def decorate(body: Callable[..., Any]) -> Function:
        if not (callable(body) and hasattr(body, "__qualname__")):
            raise NetworkError(f"@function expected a function, got {body!r}; wrap it in one with def")
        if isinstance(produces, str) or produces in (int, float, bool, str):
            schema = Schema((Field("", Schema.of({"value": produces})["value"]),))
        else:
            schema = Schema.of(produces)
        return Function(place_of(body), (reads,) if isinstance(reads, str) else tuple(reads), schema, body)

    return decorate


def functions_of(box: Any) -> Iterator[Function]:
    """The functions among the settings of a box."""
    for setting in dataclasses.fields(box):
        yield from _functions_in(getattr(box, setting.name))


def call_on_columns(function: Function, box: str, tuples: pl.DataFrame) -> list[pl.Series]:
    """The columns that the function produces for these tuples; if it raises, the error names the first such tuple."""
    try:
        return _call(function, tuples)
    except Exception as error:
        for values in tuples.iter_rows(named=True):
            try:
                _call(function, pl.DataFrame([values], schema=tuples.schema))
            except Exception as cause:
                raise TupleError(box, values, cause) from cause
        raise RunError(
            f"box {box!r}: the function {function.place} failed on {tuples.height} tuples together: {error}"
        ) from error


def call_on_window(function: Function, box: str, window: pl.DataFrame) -> tuple[Any, ...]:
    """The values of a user's aggregate over the tuples of one window."""
    try:
        result = function(*(window[name] for name in function.reads))
        values = result if isinstance(result, tuple) else (result,)
        if len(values) != len(function.produces.fields):
            raise ValueError(f"expected {len(function.produces.fields)} values, got {len(values)}")
        return tuple(
            pl.Series([value]).cast(field.type.polars)[0]
            for field, value in zip(function.produces, values, strict=True)
        )
    except Exception as error:
        raise TupleError(box, window.row(-1, named=True), error) from error


def _call(function: Function, tuples: pl.DataFrame) -> list[pl.Series]:
    result = function(*(tuples[name] for name in function.reads))
    columns = result if isinstance(result, tuple) else (result,)
    if len(columns) != len(function.produces.fields):
        raise ValueError(f"expected {len(function.produces.fields)} columns, got {len(columns)}")
    made = []
    for field, values in zip(function.produces, columns, strict=True):
        column = pl.Series(values) if not isinstance(values, pl.Series) else values
        if len(column) != tuples.height:
            raise ValueError(f"expected {tuples.height} values for {field.name!r}, got {len(column)}")
        made.append(column.cast(field.type.polars).alias(field.name))
    return made


def _functions_in(value: Any) -> Iterator[Function]:
    if isinstance(value, Function):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _functions_in(part)
    elif isinstance(value, Mapping):
        yield from _functions_in(tuple(value.values()))


def _tuple_error(box: str, values: Mapping[str, Any], error: str) -> TupleError:
    made = TupleError(box, values, RuntimeError(error))
    made.error = error
    made.args = (f"box {box!r} failed on the tuple {dict(values)}: {error}",)
    return made
