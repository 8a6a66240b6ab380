"""Functions of numbers in expressions; those that the engines need not know are made of others."""

from __future__ import annotations

import math
from typing import Any

from sqlglot import exp

from arterial.network.expression.binder import Binder
from arterial.network.expression.tree import Call, Literal, Tree, cast
from arterial.network.schema import Type

OF_FLOATS: dict[type[exp.Expression], str] = {
    exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan", exp.Asin: "asin", exp.Acos: "acos", exp.Atan: "atan",
    exp.Exp: "exp", exp.Ln: "ln", exp.Sqrt: "sqrt", exp.Atan2: "atan2", exp.Pow: "pow",
    exp.Sinh: "sinh", exp.Cosh: "cosh", exp.Tanh: "tanh",
}  # fmt: skip
"""Functions of one or two floats that give a float."""

NAMES = (
    "abs floor ceil round sqrt sin cos tan asin acos atan atan2 sinh cosh tanh exp ln log log10 log2 pow degrees "
    "radians sign trunc pi isnan isinf mod coalesce ifnull nullif least greatest if cast"
)
_INFINITY = Literal(math.inf, Type.FLOAT64)


class Numbers(Binder):
    """Reads functions of numbers."""

    def _of_floats(self, part: Any) -> Tree:
        arguments = [self._float(part.args[key]) for key in ("this", "expression") if part.args.get(key) is not None]
        return Call(OF_FLOATS[type(part)], tuple(arguments), Type.FLOAT64)

    def _on_abs(self, part: exp.Abs) -> Tree:
        return self._numeric("abs", part.this)

    def _on_floor(self, part: exp.Floor) -> Tree:
        return self._to_whole("floor", part.this)

    def _on_ceil(self, part: exp.Ceil) -> Tree:
        return self._to_whole("ceil", part.this)

    def _to_whole(self, function: str, argument: Any) -> Tree:
        value = self._number(argument)
        return value if value.type is not Type.FLOAT64 else Call(function, (value,), Type.FLOAT64)

    def _on_round(self, part: exp.Round) -> Tree:
        value = self._number(part.this)
        digits = part.args.get("decimals")
        if digits is None:
            return value if value.type is not Type.FLOAT64 else Call("round", (value,), Type.FLOAT64)
        places = self._whole_constant(digits, "the number of digits of round", -15, 15)
        scale = Literal(float(10 ** abs(places)), Type.FLOAT64)
        there, back = ("*", "/") if places >= 0 else ("/", "*")
        scaled = Call("round", (Call(there, (cast(value, Type.FLOAT64), scale), Type.FLOAT64),), Type.FLOAT64)
        return Call(back, (scaled, scale), Type.FLOAT64)

    def _on_log(self, part: exp.Log) -> Tree:
        """log(x) is of base 10; sqlglot also gives log10(x), log2(x) and log(base, x) this way."""
        base, value = (None, part.this) if part.args.get("expression") is None else (part.this, part.expression)
        known = {None: "log10", "10": "log10", "2": "log2"}
        name = known.get(base.this if isinstance(base, exp.Literal) else base)
        if name is not None:
            return Call(name, (self._float(value),), Type.FLOAT64)
        logs = [Call("ln", (self._float(one),), Type.FLOAT64) for one in (value, base)]
        return Call("/", tuple(logs), Type.FLOAT64)

    def _on_degrees(self, part: exp.Degrees) -> Tree:
        return Call("*", (self._float(part.this), Literal(180 / math.pi, Type.FLOAT64)), Type.FLOAT64)

    def _on_radians(self, part: exp.Radians) -> Tree:
        return Call("*", (self._float(part.this), Literal(math.pi / 180, Type.FLOAT64)), Type.FLOAT64)

    def _on_pi(self, part: exp.Pi) -> Tree:
        return Literal(math.pi, Type.FLOAT64)

    def _on_sign(self, part: exp.Sign) -> Tree:
        value, zero = self._number(part.this), Literal(0, Type.INT64)
        signs = [
            (self._comparison(sign, value, zero), Literal(number, Type.INT64))
            for sign, number in ((">", 1), ("<", -1), ("=", 0))
        ]
        return self._case(*(tree for pair in signs for tree in pair), Literal(None, Type.INT64))

    def _on_trunc(self, part: exp.Trunc) -> Tree:
        value = self._number(part.this)
        if value.type is not Type.FLOAT64:
            return value
        down, up = (Call(name, (value,), Type.FLOAT64) for name in ("floor", "ceil"))
        return self._case(self._comparison("<", value, Literal(0, Type.INT64)), up, down)

    def _on_isnan(self, part: exp.IsNan) -> Tree:
        return self._comparison(">", self._float(part.this), _INFINITY)

    def _on_isinf(self, part: exp.IsInf) -> Tree:
        return self._comparison("=", Call("abs", (self._float(part.this),), Type.FLOAT64), _INFINITY)

    def _on_nullif(self, part: exp.Nullif) -> Tree:
        value = self.tree(part.this)
        return self._case(self._comparison("=", value, self.tree(part.expression)), Literal(None, None), value)
