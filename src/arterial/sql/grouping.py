"""SELECT, GROUP BY, HAVING and ORDER BY: aggregates and groups become columns, which the rest is computed of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from arterial.network.duration import units
from arterial.network.expression.parser import Dialect
from arterial.network.schema import Type
from arterial.sql.catalog import StreamEntry
from arterial.sql.names import SIGN, Names
from arterial.sql.text.mistake import Place, SqlError
from arterial.sql.text.parse import place_of_part

AGGREGATES = ("count", "sum", "avg", "min", "max")
MOST_COLUMNS = 1_000
"""So many columns an answer may have; the time to name them grows with the square."""


@dataclass(frozen=True)
class Column:
    """A column that is computed: its name and its expression."""

    name: str
    text: str


class Grouping:
    """What a query computes, read once: first the groups, then the items, then what is said of them."""

    def __init__(self, names: Names, objects: int) -> None:
        self.names, self.query = names, names.query
        self.objects = objects
        self.groups: dict[str, Column] = {}
        self.aggregates: dict[str, Column] = {}
        parts = [item.expression for item in self.query.items] + [self.query.having]
        aggregated = any(part is not None and part.find(exp.AggFunc) for part in parts)
        self.grouped = self.query.grouped or aggregated or self.query.having is not None
        self.kind = Type.INT64
        if self.query.window is not None:
            self.kind = self._clock()

    def read(self) -> tuple[Column, ...]:
        """The columns of the answer."""
        if len(self.query.items) > MOST_COLUMNS:
            raise SqlError(
                f"the answer has {len(self.query.items):,} columns; expected at most {MOST_COLUMNS:,}",
                self.query.text,
                self.query.items[MOST_COLUMNS].place,
            )
        for part in self.query.groups:
            self._group(part)
        items: list[Column] = []
        for item in self.query.items:
            star = _is_star(item.expression)
            for part in self.names.expand(item.expression, item.place) if star else [item.expression]:
                text = self._computed(part, item.place)
                items.append(Column(self._name(item.name, part, items, item.place), text))
        return tuple(items)

    def having(self) -> str | None:
        """The condition on groups."""
        part = self.query.having
        if part is None:
            return None
        place = place_of_part(part, self.query.text)
        tree = self.names.check(self.names.bind(self._bounds(part)), place, self.kind)
        if tree.type not in (Type.BOOL, None):
            raise SqlError(f"expected a condition, got a value of type {tree.type}", self.query.text, place)
        return self._computed(part, place)

    def order(self, items: tuple[Column, ...]) -> str | None:
        """The column of the answer that ORDER BY names."""
        order = self.query.order
        if order is None:
            return None
        if isinstance(order.expression, exp.Column):
            for item in items:
                if item.name.lower() == order.expression.name.lower():
                    return item.name
        text = self._computed(order.expression, order.place)
        for item in items:
            if item.text == text:
                return item.name
        raise SqlError("ORDER BY takes a column of the answer; add it to SELECT", self.query.text, order.place)

    def _clock(self) -> Type:
        entry = self.names.relations[self.objects].entry
        assert isinstance(entry, StreamEntry)
        return entry.schema[entry.time]

    def _bounds(self, part: exp.Expression) -> exp.Expression:
        """The expression with `window_start` and `window_end` as what they are computed of."""
        window = self.query.window
        if window is None:
            return part
        entry = self.names.relations[self.objects].entry
        assert isinstance(entry, StreamEntry)
        size = units(window.durations[-1], self._clock(), "")
        more = f" + INTERVAL '{size} microseconds'" if self._clock() is Type.TIMESTAMP else f" + {size}"
        alias = self.names.relations[self.objects].alias
        time = exp.column(entry.time, table=alias, quoted=True).sql(dialect=Dialect)
        end = f"max({time})" if window.kind == "SESSION" else "window_start()"
        texts = {"window_start": "window_start()", "window_end": end + more}

        def bound(one: exp.Expression) -> exp.Expression:
            if isinstance(one, exp.Column) and not one.table and one.name.lower() in texts:
                known = {name.lower() for name in entry.schema.names}
                if one.name.lower() not in known:
                    made = sqlglot.parse_one(texts[one.name.lower()], read=Dialect)
                    assert isinstance(made, exp.Expression)
                    return made
            return one

        return part.copy().transform(bound)

    def _group(self, part: exp.Expression) -> None:
        place = place_of_part(part, self.query.text)
        if isinstance(part, exp.Column) and not part.table:
            known = {name.lower() for one in self.names.relations for name in one.entry.schema.names}
            for item in self.query.items:
                if item.name and item.name.lower() == part.name.lower() and part.name.lower() not in known:
                    part = item.expression
        if part.find(exp.AggFunc):
            raise SqlError("GROUP BY cannot hold an aggregate", self.query.text, place)
        if isinstance(part, exp.Literal):
            raise SqlError("expected a column or an expression to group by, got a constant", self.query.text, place)
        bound = self.names.bind(part)
        self.names.check(bound, place)
        text = self.names.text(bound)
        name = bound.name if isinstance(bound, exp.Column) else f"group_{len(self.groups) + 1}"
        self.groups.setdefault(text, Column(name, text))

    def _computed(self, part: exp.Expression, place: Place) -> str:
        bound = self.names.bind(self._bounds(part))
        tree = self.names.check(bound, place, self.kind if self.grouped else None)
        if tree.type is None:
            raise SqlError("this has no type; write cast(null as …)", self.query.text, place)
        if not self.grouped:
            return self.names.text(bound)
        return self.names.text(self._over_groups(bound, place))

    def _over_groups(self, part: exp.Expression, place: Place) -> exp.Expression:
        """The expression with groups and aggregates as columns."""
        text = self.names.text(part)
        if text in self.groups:
            return exp.column(self.groups[text].name, quoted=True)
        if isinstance(part, exp.AggFunc) or text.lower() == "window_start()":
            return exp.column(self._aggregate(part, text, place), quoted=True)
        if isinstance(part, exp.Column):
            owner = next(used for used in self.names.used.values() if used.name == part.name)
            hint = "add it to GROUP BY, or aggregate it" if self.query.grouped else "add GROUP BY, or aggregate it"
            raise SqlError(
                f"{owner.column!r} is neither grouped nor inside an aggregate; {hint}, such as max({owner.column})",
                self.query.text,
                place_of_part(part, self.query.text, place),
            )
        for key, child in list(part.args.items()):
            if isinstance(child, exp.Expression):
                part.set(key, self._over_groups(child, place))
            elif isinstance(child, list):
                part.set(key, [self._over_groups(c, place) if isinstance(c, exp.Expression) else c for c in child])
        return part

    def _aggregate(self, part: exp.Expression, text: str, place: Place) -> str:
        if text not in self.aggregates:
            function = text.partition("(")[0].lower()
            if function not in AGGREGATES and not self.query.windowed:
                raise SqlError(
                    f"the aggregate {text!r} cannot follow rows that leave; expected one of {', '.join(AGGREGATES)}",
                    self.query.text,
                    place_of_part(part, self.query.text, place),
                )
            taken = {used.name for used in self.names.used.values()} | {one.name for one in self.aggregates.values()}
            argument = part.this.name if isinstance(part.this, exp.Column) else ""
            name = _free(f"{function}_{argument}".strip("_"), taken)
            self.aggregates[text] = Column(name, text)
        return self.aggregates[text].name

    def _name(self, given: str | None, part: exp.Expression, items: Iterable[Column], place: Place) -> str:
        taken = {item.name.lower() for item in items}
        if given is not None:
            if given.lower() in taken:
                raise SqlError(f"two columns are named {given!r}; give one another name", self.query.text, place)
            if given.lower() == SIGN:
                raise SqlError(
                    f"the answer has a column {SIGN!r} already; name this another way", self.query.text, place
                )
            return given
        if isinstance(part, exp.Column):
            name, owner = part.name, part.table
            found = [used.column for used in self.names.used.values() if used.column.lower() == name.lower()]
            name = found[0] if found and name not in found else name
            if name.lower() in taken | {SIGN} and owner:
                name = f"{owner}_{name}"
        elif isinstance(part, exp.AggFunc):
            argument = part.this.name if isinstance(part.this, exp.Column) else ""
            name = f"{part.key}_{argument}".strip("_").lower() if argument else part.key
        else:
            name = f"column_{len(taken) + 1}"
        return _free(name, taken | {SIGN})


def _is_star(part: exp.Expression) -> bool:
    return isinstance(part, exp.Star) or (isinstance(part, exp.Column) and isinstance(part.this, exp.Star))


def _free(name: str, taken: set[str]) -> str:
    base, number, known = name, 2, {one.lower() for one in taken}
    while name.lower() in known:
        name, number = f"{base}_{number}", number + 1
    return name
