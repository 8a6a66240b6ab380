"""Filter: screens tuples for those that satisfy a predicate (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.expression.function import Function, call_on_columns
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import reads
from arterial.network.expression.vectorised import truth
from arterial.network.schema import Type
from arterial.network.signed import require_rows_only
from arterial.network.state import State
from arterial.network.train import Train

OTHERWISE = "otherwise"


@dataclass(frozen=True)
class Filter(Box):
    """Screens tuples for those that satisfy a predicate (Aurora §2.1).

    Tuples for which the predicate is true leave by `out`, all others (false or null) by `otherwise`. Order and groups
    stay. On a signed stream the predicate must read neither time nor sign, so that a row that goes takes the way on
    which it came.

    Parameters:
        predicate: an expression, or a function made with `@function` that produces one bool.

    >>> from arterial.testing import show
    >>> show(lambda s: s.filter("fast", "speed > 100"), time=[1, 2, 3], speed=[90, 120, None])
    time  speed
       2    120
    """

    predicate: str | Function

    kind: ClassVar[str] = "filter"
    stateless: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    @property
    def outputs(self) -> tuple[str, ...]:
        """Those that satisfy it, and the others."""
        return (OUT, OTHERWISE)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Both outputs are like the input."""
        stream = inputs[IN]
        check_predicate(self.predicate, stream)
        return {OUT: stream, OTHERWISE: stream}

    def reads(self, stream: Stream) -> frozenset[str]:
        """The columns of the predicate."""
        return read_by(self.predicate, stream)

    @property
    def never_fails(self) -> bool:
        """An expression gives a value, or null, for every tuple; a function may raise."""
        return not isinstance(self.predicate, Function)

    def selects(self) -> str | None:
        """Its predicate, if that is an expression."""
        return None if isinstance(self.predicate, Function) else self.predicate

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The train in two parts."""
        train = trains[IN]
        if not len(train):
            return {port: Train(train.tuples, train.through) for port in (OUT, OTHERWISE)}
        mask = holds(self.predicate, self.name, self.fed_by[IN], train.tuples)
        otherwise = train.tuples.filter(~mask) if OTHERWISE in self.used else train.tuples.clear()
        return {OUT: Train(train.tuples.filter(mask), train.through), OTHERWISE: Train(otherwise, train.through)}


def check_predicate(condition: str | Function, stream: Stream) -> None:
    """Raise unless it is a predicate on tuples of that stream."""
    if isinstance(condition, Function):
        condition.check(stream.schema)
        require_rows_only(stream, condition.reads, "the predicate")
        if [field.type for field in condition.produces] != [Type.BOOL]:
            raise NetworkError(f"expected a function that produces one bool, got {condition.produces}")
    else:
        require_rows_only(stream, reads(predicate(condition, stream.schema)), f"{condition!r}")


def read_by(condition: str | Function, stream: Stream) -> frozenset[str]:
    """The columns that a predicate reads."""
    if isinstance(condition, Function):
        return frozenset(condition.reads)
    return frozenset(reads(predicate(condition, stream.schema)))


def holds(condition: str | Function, box: str, stream: Stream, tuples: pl.DataFrame) -> pl.Series:
    """For which tuples of the stream a predicate is true; null is not."""
    if isinstance(condition, Function):
        return call_on_columns(condition, box, tuples)[0].fill_null(False)
    return truth(tuples, predicate(condition, stream.schema))
