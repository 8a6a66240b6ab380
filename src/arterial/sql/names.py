"""Looks up the names of a query: every column becomes that of one stream or table, under a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from arterial.errors import NetworkError, near
from arterial.network.duration import units
from arterial.network.expression.parser import Dialect, TooLargeError, parse
from arterial.network.expression.tree import Tree
from arterial.network.schema import Field, Schema, Type
from arterial.sql.catalog import Catalog, StreamEntry, TableEntry
from arterial.sql.text.mistake import Place, SqlError
from arterial.sql.text.parse import place_of_part
from arterial.sql.text.query import From, Query, Window

SIGN = "sign"
BOUNDS = ("window_start", "window_end")
"""The columns that a window in FROM adds to those of its stream."""
MOST_HOPS = 100
"""A row is in at most so many windows of HOP in FROM."""
MOST_RELATIONS = 100
"""So many streams and tables FROM may name; the time to draw them grows with the square."""
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.Like)


@dataclass(frozen=True)
class Relation:
    """A stream or table of the query."""

    alias: str
    name: str
    entry: StreamEntry | TableEntry
    place: Place
    every: int | None = None
    """The distance of its windows in units of its time, if FROM has it in windows; of SESSION, the gap."""
    over: int | None = None
    """The length of its windows; of SESSION the gap."""
    sessions: tuple[str, ...] | None = None
    """If FROM has it as SESSION(…): the columns whose rows have sessions of their own."""


@dataclass(frozen=True)
class Used:
    """A column that the query reads: of which relation, what it is called there, and here."""

    relation: int
    column: str
    name: str
    type: Type


@dataclass
class Names:
    """The names of one query. Columns get their own names when they are first used."""

    query: Query
    relations: tuple[Relation, ...]
    used: dict[tuple[int, str], Used] = field(default_factory=dict)

    def bind(self, part: exp.Expression) -> exp.Expression:
        """A copy of an expression in which every column has its own name, and its place."""
        return part.copy().transform(self._bound, copy=False)

    def use(self, relation: int, column: str) -> Used:
        """The column of a relation, under its own name."""
        key = (relation, column)
        if key not in self.used:
            entry = self.relations[relation].entry
            taken = {used.name.lower() for used in self.used.values()} | {SIGN}
            taken |= {one.entry.time.lower() for one in self.relations if isinstance(one.entry, StreamEntry)}
            shared = sum(column.lower() in _lower(one.entry.schema) for one in self.relations) > 1
            name = (
                column if not shared and column.lower() not in taken else f"{self.relations[relation].alias}_{column}"
            )
            base, number = name, 2
            while name.lower() in taken:
                name, number = f"{base}_{number}", number + 1
            self.used[key] = Used(relation, column, name, entry.schema[column])
        return self.used[key]

    def relations_of(self, part: exp.Expression) -> frozenset[int]:
        """The relations that a bound expression reads."""
        owners = {used.name: used.relation for used in self.used.values()}
        return frozenset(owners[column.name] for column in part.find_all(exp.Column))

    def schema(self) -> Schema:
        """All columns in use, under their own names."""
        return Schema(tuple(Field(used.name, used.type) for used in self.used.values()))

    def text(self, part: exp.Expression) -> str:
        """A bound expression as text for a box."""
        return part.sql(dialect=Dialect, comments=False)

    def check(self, part: exp.Expression, place: Place, window: Type | None = None) -> Tree:
        """The tree of a bound expression; an error is at the smallest part that is wrong by itself."""
        schema = self.schema()
        try:
            return parse(self.text(part), schema, window)
        except NetworkError as mistake:
            wrong, error = part, mistake
        while not isinstance(error, TooLargeError) and (smaller := self._wrong_below(wrong, schema, window)):
            wrong, error = smaller
        said = str(error)
        said = said.partition("': ")[2] or said.partition('": ')[2] or said
        if "values of one type" in said:
            said += "; write cast(… as text), or as a number, around one of them"
        raise SqlError(said.replace('"', ""), self.query.text, place_of_part(wrong, self.query.text, place))

    def expand(self, star: exp.Expression, place: Place) -> list[exp.Expression]:
        """The columns that `*` or `M.*` means."""
        chosen = range(len(self.relations))
        if isinstance(star, exp.Column):
            at = self._relation(star)
            chosen = range(at, at + 1)
        columns: list[exp.Expression] = []
        for relation in chosen:
            for name in self.relations[relation].entry.schema.names:
                column = exp.column(name, table=self.relations[relation].alias, quoted=True)
                column.this.meta.update(start=place.start, end=place.end - 1)
                columns.append(column)
        return columns

    def _wrong_below(
        self, part: exp.Expression, schema: Schema, window: Type | None
    ) -> tuple[exp.Expression, NetworkError] | None:
        for child in part.iter_expressions():
            if isinstance(child, exp.Identifier | exp.Star | exp.DataType | exp.If | exp.Distinct | exp.Var):
                continue
            try:
                parse(self.text(child), schema, window)
            except NetworkError as mistake:
                return child, mistake
        return None

    def _bound(self, part: exp.Expression) -> exp.Expression:
        if not isinstance(part, exp.Column):
            return part
        place = place_of_part(part, self.query.text)
        if len(part.parts) > 2:
            raise SqlError("expected a column, or STREAM.COLUMN", self.query.text, place)
        used = self._look_up(part, place)
        made = exp.column(used.name, quoted=True) if isinstance(used, Used) else exp.Literal.string(used)
        made.meta["bound"] = True
        (made.this if isinstance(used, Used) else made).meta.update(start=place.start, end=place.end - 1)
        return made

    def _look_up(self, part: exp.Column, place: Place) -> Used | str:
        name, quoted = part.name, bool(part.this.args.get("quoted"))
        if part.table:
            at = self._relation(part)
            column = _find(self.relations[at].entry.schema, name, quoted)
            if column is None:
                raise self._unknown(name, [self.relations[at]], place_of_part(part.this, self.query.text, place))
            return self.use(at, column)
        found = [
            (at, column)
            for at, one in enumerate(self.relations)
            if (column := _find(one.entry.schema, name, quoted)) is not None
        ]
        if len(found) == 1:
            return self.use(*found[0])
        if found:
            choices = " or ".join(f"{self.relations[at].alias}.{column}" for at, column in found)
            raise SqlError(f"the column {name!r} could be of either; write {choices}", self.query.text, place)
        if quoted and self._is_compared(part):
            return name
        raise self._unknown(name, self.relations, place, maybe_text=quoted or isinstance(part.parent, _COMPARED))

    def _is_compared(self, part: exp.Column) -> bool:
        """Whether a double-quoted word is what a column or value is compared with, so that it must be a text."""
        parent = part.parent
        if not isinstance(parent, _COMPARED):
            return False
        sides: list[Any] = list(parent.iter_expressions())
        sides = [side for side in sides if side is not part]
        return any(
            not isinstance(side, exp.Literal | exp.Null | exp.Boolean) and self._has_meaning(side) for side in sides
        )

    def _has_meaning(self, side: exp.Expression) -> bool:
        if not isinstance(side, exp.Column) or side.table or side.meta.get("bound") or not side.this.args.get("quoted"):
            return True
        return any(side.name in one.entry.schema for one in self.relations)

    def _relation(self, part: exp.Column) -> int:
        wanted = part.table
        for at, one in enumerate(self.relations):
            if one.alias.lower() == wanted.lower():
                return at
        for at, one in enumerate(self.relations):
            if one.name.lower() == wanted.lower():
                return at
        known = [one.alias for one in self.relations]
        table = part.args["table"]
        raise SqlError(
            f"no stream or table in FROM is called {wanted!r}; there is: {', '.join(known)}{near(wanted, known)}",
            self.query.text,
            place_of_part(table, self.query.text),
        )

    def _unknown(self, name: str, relations: Sequence[Relation], place: Place, maybe_text: bool = False) -> SqlError:
        names = [column for one in relations for column in one.entry.schema.names]
        where = relations[0].name if len(relations) == 1 else "FROM"
        hint = near(name, names)
        if maybe_text and not hint:
            hint = f"; if it is a text, write '{name}'."
        return SqlError(
            f"there is no column {name!r} in {where}{hint or '.'} It has: {', '.join(dict.fromkeys(names))}",
            self.query.text,
            place,
        )


def look_up(query: Query, catalog: Catalog) -> Names:
    """The relations that FROM names."""
    if len(query.relations) > MOST_RELATIONS:
        raise SqlError(
            f"FROM names {len(query.relations):,} streams and tables; expected at most {MOST_RELATIONS:,}",
            query.text,
            query.relations[MOST_RELATIONS].place,
        )
    return Names(query, tuple(_entry(query, one, catalog) for one in query.relations))


def _entry(query: Query, wanted: From, catalog: Catalog) -> Relation:
    name = wanted.name
    if name not in catalog.entries:
        alike = [one for one in catalog.entries if one.lower() == name.lower()]
        if len(alike) != 1:
            known = ", ".join(catalog.entries) or "none"
            raise SqlError(
                f"there is no stream or table {wanted.name!r}; known: {known}{near(wanted.name, catalog.entries)}",
                query.text,
                wanted.place,
            )
        name = alike[0]
    entry = catalog.entries[name]
    if wanted.window is None:
        return Relation(wanted.alias, name, entry, wanted.place)
    return _in_windows(Relation(wanted.alias, name, entry, wanted.place), wanted.window, query)


def _in_windows(relation: Relation, window: Window, query: Query) -> Relation:
    """A stream whose rows have the bounds of their window."""
    entry = relation.entry
    if not isinstance(entry, StreamEntry):
        raise SqlError(
            f"{relation.name} is a table, which has no time; join it without a window", query.text, relation.place
        )
    time = window.time
    place = place_of_part(time, query.text, window.place)
    if not isinstance(time, exp.Column) or _find(entry.schema, time.name, False) != entry.time:
        raise SqlError(f"expected the time of {relation.name}, {entry.time}", query.text, place)
    for name in BOUNDS:
        if name in _lower(entry.schema):
            raise SqlError(f"{relation.name} has a column {name!r} of its own; rename it", query.text, relation.place)
    kind = entry.schema[entry.time]
    try:
        every = units(window.durations[0], kind, "every")
        over = units(window.durations[-1], kind, "over")
    except NetworkError as mistake:
        raise SqlError(str(mistake), query.text, window.place) from None
    if not every <= over <= MOST_HOPS * every:
        said = f"HOP(stream, time, every, over): over must be from 1 to {MOST_HOPS} times every"
        raise SqlError(said, query.text, window.place)
    bounds = (Field(name, kind if kind is Type.TIMESTAMP else Type.INT64) for name in BOUNDS)
    entry = replace(entry, schema=Schema((*entry.schema.fields, *bounds)))
    key = None if window.kind != "SESSION" else tuple(_key_column(relation, one, query) for one in window.key)
    return replace(relation, entry=entry, every=every, over=over, sessions=key)


def _key_column(relation: Relation, part: exp.Expression, query: Query) -> str:
    column = _find(relation.entry.schema, part.name, bool(part.this.args.get("quoted")))
    if column is None:
        names = relation.entry.schema.names
        raise SqlError(
            f"there is no column {part.name!r} in {relation.name}{near(part.name, names) or '.'} It has: "
            f"{', '.join(names)}",
            query.text,
            place_of_part(part, query.text, relation.place),
        )
    return column


def _find(schema: Schema, name: str, quoted: bool) -> str | None:
    """The column of a name: exactly, or, if it is not quoted, however it is capitalised."""
    if name in schema:
        return name
    alike = [] if quoted else [one for one in schema.names if one.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _lower(schema: Schema) -> set[str]:
    return {name.lower() for name in schema.names}
