"""A query with all its names looked up and all its types checked: what is to be drawn as a network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from arterial.errors import NetworkError, near
from arterial.network.duration import units
from arterial.network.schema import Type
from arterial.sql.catalog import Catalog, StreamEntry, counts_alike
from arterial.sql.grouping import Column, Grouping
from arterial.sql.names import Names, Relation, Used, look_up
from arterial.sql.text.characters import plain
from arterial.sql.text.clauses import read_area
from arterial.sql.text.mistake import SqlError
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


@dataclass(frozen=True)
class Condition:
    """A condition that must hold, over the columns of some of the relations."""

    text: str
    relations: frozenset[int]
    equal: tuple[str, str] | None = None
    """If it is an equality of two columns of different relations: these columns."""


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
    grouping = Grouping(names, objects)
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


def _check_grouped_by_window(query: Query, names: Names, grouping: Grouping) -> None:
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
