"""A query with all its names looked up and all its types checked: what is to be drawn as a network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from arterial.errors import NetworkError, near
from arterial.network.duration import units
from arterial.network.expression.parser import Dialect
from arterial.network.schema import Type
from arterial.sql.catalog import Catalog, StreamEntry, counts_alike
from arterial.sql.names import SIGN, Names, Relation, Used, look_up
from arterial.sql.text.characters import plain
from arterial.sql.text.clauses import read_area
from arterial.sql.text.mistake import Place, SqlError
from arterial.sql.text.parse import WINDOWS, place_of_part
from arterial.sql.text.query import (
    Clause,
    Inside,
    MovingRegion,
    Named,
    Nearest,
    NearestTo,
    NearestToMoving,
    Query,
    Region,
)

AGGREGATES = ("count", "sum", "avg", "min", "max")


@dataclass(frozen=True)
class Condition:
    """A condition that must hold, over the columns of some of the relations."""

    text: str
    relations: frozenset[int]
    equal: tuple[str, str] | None = None
    """If it is an equality of two columns of different relations: these columns."""


@dataclass(frozen=True)
class Column:
    """A column that is computed: its name and its expression."""

    name: str
    text: str


@dataclass(frozen=True)
class Checked:
    """A query that is right. Expressions read columns by the names in `used`; after grouping, by those of `groups` and
    `aggregates`.
    """

    query: Query
    relations: tuple[Relation, ...]
    used: tuple[Used, ...]
    objects: int
    """The relation that the GPAC clauses are about: the first that has objects, x and y."""
    inside: Inside | None
    nearest: Nearest | None
    conditions: tuple[Condition, ...]
    groups: tuple[Column, ...]
    aggregates: tuple[Column, ...]
    grouped: bool
    having: str | None
    items: tuple[Column, ...]
    distinct: bool
    order: str | None = None
    """The column of the answer that rows are ordered by."""


def check_query(query: Query, catalog: Catalog) -> Checked:
    """Look up all names in the catalog and check all types; a mistake is an error at its place."""
    names = look_up(query, catalog)
    _check_times(query, names)
    objects = _objects(query, names)
    _check_window(query, names, objects)
    conditions = tuple(_condition(names, part) for part in query.conditions)
    _check_same_window(query, names, conditions)
    grouping = _Grouping(names, objects)
    items = grouping.read()
    having = grouping.having()
    _check_grouped_by_window(query, names, grouping)
    _use_roles(query, names, objects)
    return Checked(
        query=query,
        relations=names.relations,
        used=tuple(names.used.values()),
        objects=objects,
        inside=_inside(query, catalog, names, objects),
        nearest=_nearest(query, names, objects),
        conditions=conditions,
        groups=tuple(grouping.groups.values()),
        aggregates=tuple(grouping.aggregates.values()),
        grouped=grouping.grouped,
        having=having,
        items=items,
        distinct=query.distinct,
        order=grouping.order(items),
    )


def _check_times(query: Query, names: Names) -> None:
    streams = [one for one in names.relations if isinstance(one.entry, StreamEntry)]
    if not streams:
        raise SqlError(
            "FROM names tables only; expected a stream, whose rows change", query.text, names.relations[0].place
        )
    first = streams[0].entry
    assert isinstance(first, StreamEntry)
    for one in streams[1:]:
        assert isinstance(one.entry, StreamEntry)
        kinds = first.schema[first.time], one.entry.schema[one.entry.time]
        if not counts_alike(*kinds):
            raise SqlError(
                f"{streams[0].name} and {one.name} count time differently, as {kinds[0]} and {kinds[1]}",
                query.text,
                one.place,
            )


def _check_window(query: Query, names: Names, objects: int) -> None:
    """A window is over all rows of a stream."""
    if not query.windowed:
        return
    window = query.window
    windows = [one.window for one in query.relations if one.window is not None]
    if window is not None and windows:
        raise SqlError("the windows stand in FROM already; group by window_start", query.text, window.place)
    for at, one in enumerate(names.relations):
        if isinstance(one.entry, StreamEntry) and one.every is None and (windows or at != objects):
            raise SqlError(
                f"{one.name} is a stream; where windows are joined, each stream has its own, in FROM: "
                f"{windows[0].kind if windows else 'TUMBLE'}({one.name}, {one.entry.time}, …)",
                query.text,
                one.place,
            )
    first = window or windows[0]
    if query.distinct:
        raise SqlError("DISTINCT and a window cannot stand together; group by the columns", query.text, first.place)
    clause = query.inside or query.nearest
    if clause is not None:
        raise SqlError("a GPAC clause and a window cannot stand together", query.text, clause.place)
    if window is None:
        return
    entry = names.relations[objects].entry
    assert isinstance(entry, StreamEntry)
    bound = names.bind(window.time)
    place = place_of_part(window.time, query.text, window.place)
    if not isinstance(bound, exp.Column) or bound.name != names.use(objects, entry.time).name:
        raise SqlError(f"expected the time of {names.relations[objects].name}, {entry.time}", query.text, place)
    for duration, what in zip(window.durations, WINDOWS[window.kind], strict=True):
        try:
            units(duration, entry.schema[entry.time], what)
        except NetworkError as mistake:
            raise SqlError(str(mistake), query.text, window.place) from None
    if window.kind == "HOP":
        every, over = (units(one, entry.schema[entry.time], "") for one in window.durations)
        if over < every:
            raise SqlError("HOP(time, every, over): over must be at least every", query.text, window.place)


def _check_same_window(query: Query, names: Names, conditions: Iterable[Condition]) -> None:
    """Streams in windows are joined within a window: the query says so, as it says all that must be equal."""
    inside = [at for at, one in enumerate(names.relations) if one.every is not None]
    joined = inside[:1]
    for at in inside[1:]:
        one, first = names.relations[at], names.relations[inside[0]]
        if (one.every, one.over, one.sessions is None) != (first.every, first.over, first.sessions is None):
            raise SqlError(f"the windows of {first.alias} and {one.alias} differ in length", query.text, one.place)
        _check_same_sessions(query, names, (inside[0], at), conditions)
        pairs = [{names.use(other, "window_start").name, names.use(at, "window_start").name} for other in joined]
        if not any(condition.equal and set(condition.equal) in pairs for condition in conditions):
            raise SqlError(
                f"rows are joined within a window; add AND {first.alias}.window_start = {one.alias}.window_start",
                query.text,
                one.place,
            )
        joined.append(at)


def _check_same_sessions(query: Query, names: Names, pair: tuple[int, int], conditions: Iterable[Condition]) -> None:
    """Streams have sessions in common by keys that the query says are equal."""
    first, one = (names.relations[at] for at in pair)
    if one.sessions is None or first.sessions is None:
        return
    if len(one.sessions) != len(first.sessions):
        raise SqlError(
            f"the sessions of {first.alias} and {one.alias} have {len(first.sessions)} and {len(one.sessions)} key "
            "column(s); expected as many, since they have their sessions in common",
            query.text,
            one.place,
        )
    for ours, theirs in zip(first.sessions, one.sessions, strict=True):
        kinds = first.entry.schema[ours], one.entry.schema[theirs]
        if kinds[0] is not kinds[1] and not all(kind.is_integer for kind in kinds):
            raise SqlError(
                f"{first.alias}.{ours} is {kinds[0]} and {one.alias}.{theirs} is {kinds[1]}; expected keys of one type",
                query.text,
                one.place,
            )
        wanted = {names.use(pair[0], ours).name, names.use(pair[1], theirs).name}
        if not any(condition.equal and set(condition.equal) == wanted for condition in conditions):
            raise SqlError(
                f"rows are joined within a session of both; add AND {first.alias}.{ours} = {one.alias}.{theirs}",
                query.text,
                one.place,
            )


def _check_grouped_by_window(query: Query, names: Names, grouping: _Grouping) -> None:
    """Aggregates of rows in windows are those of each window; the first few, too."""
    hops = [one for one in names.relations if one.every != one.over]
    if hops and query.order is not None and not grouping.grouped:
        raise SqlError(
            "ORDER BY … LIMIT of rows in windows of HOP needs GROUP BY, as windows overlap; or take TUMBLE",
            query.text,
            query.order.place,
        )
    starts = [names.use(at, "window_start").name for at, one in enumerate(names.relations) if one.every is not None]
    if starts and grouping.grouped and not any(one.name in starts for one in grouping.groups.values()):
        place = next(one.window.place for one in query.relations if one.window is not None)
        raise SqlError("an aggregate is one of each window; add window_start to GROUP BY", query.text, place)


def _objects(query: Query, names: Names) -> int:
    clause = query.inside or query.nearest
    streams = [at for at, one in enumerate(names.relations) if isinstance(one.entry, StreamEntry)]
    if clause is None:
        return streams[0]
    missing = ""
    for at in streams:
        entry = names.relations[at].entry
        assert isinstance(entry, StreamEntry)
        lacks = [what for what in ("object", "x", "y") if getattr(entry, what) is None]
        if not lacks:
            return at
        missing = missing or (
            f"{names.relations[at].name} has no column for {', '.join(lacks)}; say which it is. "
            f"It has: {', '.join(entry.schema.names)}"
        )
    raise SqlError(missing, query.text, clause.place)


def _use_roles(query: Query, names: Names, objects: int) -> None:
    """Whatever the query reads, its streams keep the columns that say whose report it is, and where it was made."""
    for at, one in enumerate(names.relations):
        if isinstance(one.entry, StreamEntry):
            placed = at == objects and (query.inside or query.nearest)
            for column in (one.entry.object, *((one.entry.x, one.entry.y) if placed else ())):
                if column is not None:
                    names.use(at, column)
        if not any(used.relation == at for used in names.used.values()):
            names.use(at, one.entry.schema.names[0])


def _inside(query: Query, catalog: Catalog, names: Names, objects: int) -> Inside | None:
    clause = query.inside
    if clause is None:
        return None
    text = query.text
    if isinstance(clause.what, Named):
        name = clause.what.name
        area = next((text for known, text in catalog.areas.items() if known.lower() == name.lower()), None)
        if area is None:
            known = ", ".join(catalog.areas) or "none"
            raise SqlError(f"there is no area {name!r}; known: {known}{near(name, catalog.areas)}", text, clause.place)
        text, clause = area, _area(name, area)
    assert isinstance(clause.what, Region | MovingRegion)
    if isinstance(clause.what, MovingRegion):
        focal = _identity(clause.what.focal, clause, text, names.relations[objects])
        return MovingRegion(focal, clause.what.length, clause.what.width)
    return clause.what


def _area(name: str, area: str) -> Clause:
    try:
        return read_area(plain(area), area)
    except SqlError as mistake:
        raise SqlError(f"the area {name!r}: {mistake.what}", area, mistake.place) from None


def _nearest(query: Query, names: Names, objects: int) -> Nearest | None:
    clause = query.nearest
    if clause is None:
        return None
    assert isinstance(clause.what, NearestTo | NearestToMoving)
    if isinstance(clause.what, NearestToMoving):
        return NearestToMoving(
            clause.what.k, _identity(clause.what.focal, clause, query.text, names.relations[objects])
        )
    return clause.what


def _identity(focal: int | str, clause: Clause, text: str, relation: Relation) -> int | str:
    """The id of the focal object, as the type of the object column."""
    assert isinstance(relation.entry, StreamEntry)
    assert relation.entry.object is not None
    kind = relation.entry.schema[relation.entry.object]
    if kind is Type.STRING:
        return str(focal)
    try:
        return int(focal)
    except ValueError:
        raise SqlError(
            f"{relation.entry.object} of {relation.name} is {kind}; expected a whole number as ID, got {focal!r}",
            text,
            clause.focal or clause.place,
        ) from None


def _condition(names: Names, part: exp.Expression) -> Condition:
    place = place_of_part(part, names.query.text)
    for aggregate in part.find_all(exp.AggFunc):
        raise SqlError(
            "WHERE selects single rows; a condition on an aggregate belongs in HAVING",
            names.query.text,
            place_of_part(aggregate, names.query.text, place),
        )
    bound = names.bind(part)
    tree = names.check(bound, place)
    if tree.type not in (Type.BOOL, None):
        raise SqlError(f"expected a condition, got a value of type {tree.type}", names.query.text, place)
    relations = names.relations_of(bound)
    equal = None
    if isinstance(bound, exp.EQ) and len(relations) == 2:
        sides = bound.this, bound.expression
        if all(isinstance(side, exp.Column) for side in sides):
            equal = (sides[0].name, sides[1].name)
    return Condition(names.text(bound), relations, equal)


MOST_COLUMNS = 1_000
"""So many columns an answer may have; the time to name them grows with the square."""


class _Grouping:
    """SELECT, GROUP BY and HAVING: aggregates and groups become columns, which the rest is computed of."""

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
