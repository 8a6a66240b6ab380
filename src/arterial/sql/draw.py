"""Draws the network of a query (§5, figure 8).

FROM and WHERE say which objects qualify, GPAC-IN chooses those of them in the rectangle, GPAC-kNN the k nearest of
these; then come joins, groups and columns. It is drawn so that little flows: GPAC-IN stands at the bottom, as a
rectangle and a condition select the same in either order; GPAC-kNN stands above all that says who qualifies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from arterial.boxes.joins.join import LEFT, RIGHT
from arterial.drawing import Network, StreamHandle
from arterial.network.duration import Duration, as_duration
from arterial.network.expression.parser import Dialect, parse, quoted
from arterial.network.expression.tree import reads
from arterial.network.schema import Field, Schema, Type
from arterial.sql.catalog import StreamEntry
from arterial.sql.checked import Checked, Condition
from arterial.sql.names import BOUNDS, Relation, Used
from arterial.sql.text.query import Inside, Nearest, NearestToMoving, Region, Window

ANSWER = "answer"
LOADED = "loaded"
"""The column that a table's source has beside its own: when its rows are there, before all else."""

_FOREVER = 10**12
"""Seconds for which the rows of a table can be joined."""


@dataclass(frozen=True)
class Settings:
    """How objects are followed."""

    timeout: Duration | None = None
    """An object that is silent for so long is gone; None: it stays."""
    lonlat: bool = False
    """x and y are degrees, distances metres."""
    cache: float = 100.0
    """The size of the anticipation cache, in per cent of the conservative one."""


def draw(checked: Checked, name: str, settings: Settings) -> Network:
    """The network of a query, with its answer as the output `answer`."""
    return _Drawing(checked, name, settings).draw()


def table_schema(schema: Schema, kind: Type) -> Schema:
    """The columns of the source of a table, whose time counts like that of the streams."""
    return Schema((*schema.fields, Field(loaded_column(schema), kind)))


def loaded_column(schema: Schema) -> str:
    """The name of the column that says when a table's rows are there."""
    name = LOADED
    while name in schema:
        name += "_"
    return name


class _Drawing:
    def __init__(self, checked: Checked, name: str, settings: Settings) -> None:
        self.checked, self.settings = checked, settings
        self.net = Network(name)
        self.sources: dict[str, StreamHandle] = {}
        self.objects = checked.relations[checked.objects]
        assert isinstance(self.objects.entry, StreamEntry)
        self.entry = self.objects.entry
        self.clock = self.entry.schema[self.entry.time]
        taken = {used.name.lower() for used in checked.used} | {item.name.lower() for item in checked.items}
        taken |= {one.name.lower() for one in (*checked.groups, *checked.aggregates)}
        names = (self.entry.time, "at", *(f"at_{number}" for number in range(2, len(taken) + 4)))
        self.time = next(name for name in names if name.lower() not in taken)
        self.reports: StreamHandle | None = None
        self.everybody: StreamHandle | None = None
        self.others: dict[int, StreamHandle] = {}
        self.sessions: StreamHandle | None = None
        """The rows of all streams that FROM has in sessions, with when their session began."""
        self.schema = Schema(tuple(Field(used.name, used.type) for used in checked.used))

    def draw(self) -> Network:
        if self.checked.query.windowed:
            return self._draw_windows()
        nearest = self.checked.nearest
        stream = self._candidates() if nearest is None else self._nearest(nearest)
        stream = self._matched(stream, "join")
        if self.checked.grouped:
            stream = self._grouped(stream)
        items = {item.name: item.text for item in self.checked.items}
        stream = stream.map("select", items, keep=[self.time])
        order = self.checked.query.order
        if order is not None and self.checked.order is not None:
            stream = stream.distinct("distinct") if self.checked.distinct else stream
            stream = stream.leaders("first", order.limit, quoted(self.checked.order), ascending=not order.descending)
        else:
            stream = stream.distinct("distinct") if self.checked.distinct else stream.net("net")
        stream.output(ANSWER)
        return self.net

    def _draw_windows(self) -> Network:
        """All rows of the streams, in windows; a row of the answer comes when its window closes, and stays."""
        checked = self.checked
        every = self.objects.every
        stream = self._paired(self._where(self._reports(), checked.objects))
        if checked.grouped:
            stream = self._windows(stream, checked.query.window)
        items = {item.name: item.text for item in checked.items}
        stream = stream.map("select", items, keep=[self.time])
        order = checked.query.order
        if order is not None and checked.order is not None:
            # A window's rows come at its last instant; pairs of rows come one by one.
            # Those of a session have the time of its last row.
            at_once = checked.grouped or every is None or self.objects.sessions is not None
            length = self._instant() if at_once else as_duration(every or 0, self.clock)
            by, rank = quoted(checked.order), self._free("rank")
            stream = stream.top("first", order.limit, by, length, ascending=not order.descending, rank=rank)
            stream = stream.map("listed", keep=[self.time, *items])
        stream.net("net").output(ANSWER)
        return self.net

    def _instant(self) -> Duration:
        return "1 us" if self.clock is Type.TIMESTAMP else 1

    def _windows(self, stream: StreamHandle, window: Window | None) -> StreamHandle:
        """The groups and aggregates of each window."""
        checked = self.checked
        computed = {one.name: one.text for one in checked.groups if one.text != quoted(one.name)}
        stream = stream.map("groups", computed) if computed else stream
        grouped = stream.group_by(*(one.name for one in checked.groups), name="group_by")
        values = {one.name: one.text for one in checked.aggregates} or {self._free("rows"): "count(*)"}
        if window is None:
            stream = self._windows_of_rows(grouped, values)
        elif window.kind == "TUMBLE":
            stream = grouped.tumble("window", values, every=window.durations[0])
        elif window.kind == "HOP":
            stream = grouped.slide("window", values, every=window.durations[0], over=window.durations[1])
        else:
            stream = grouped.session("window", values, gap=window.durations[0])
        stream = stream.group_by(name="all_groups")
        return stream if checked.having is None else stream.filter("having", checked.having)

    def _windows_of_rows(self, grouped: StreamHandle, values: dict[str, str]) -> StreamHandle:
        """The values of each window, of rows that have its bounds and are grouped by its begin."""
        one = self.objects
        assert one.every is not None
        assert one.over is not None
        every, over = (as_duration(size, self.clock) for size in (one.every, one.over))
        if one.sessions is not None:
            return grouped.tumble("window", values, every=self._instant())
        if every == over:
            return grouped.tumble("window", values, every=every)
        # Rows of a window also lie in the others that overlap it; only the window that they are grouped by counts.
        begin = self._free("begin")
        starts = {used.name for used in self.checked.used if used.column == "window_start"}
        start = next(group.name for group in self.checked.groups if group.name in starts)
        stream = grouped.slide("window", {**values, begin: "window_start()"}, every=every, over=over)
        return stream.filter("own_window", f"{quoted(begin)} = {quoted(start)}")

    def _paired(self, stream: StreamHandle) -> StreamHandle:
        """The rows joined with those of other streams in the same window, and with tables.

        What must be equal is the group of a Join, which then looks only at pairs of one group.
        """
        joined = {self.checked.objects}
        for relation, one in enumerate(self.checked.relations):
            if relation in joined:
                continue
            mine = {used.name for used in self._used(relation)}
            keys: list[tuple[str, str]] = []
            rest = []
            for condition in self._between(relation, joined):
                pair = self._key(condition, mine)
                if pair is None:
                    rest.append(f"({_sided(condition.text, mine)})")
                else:
                    keys.append(pair)
            names = [self._free(f"key_{number}") for number in range(1, len(keys) + 1)]
            sides = []
            for side, texts in (
                (stream, [left for left, _ in keys]),
                (self._where(self._columns(relation), relation), [right for _, right in keys]),
            ):
                label = self._box_name(one, "keys")
                if names:
                    given = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in names)
                    side = side.map(label, dict(zip(names, texts, strict=True)))
                    side = side.filter(f"{label}_given", given)
                sides.append(side.group_by(*names, name=self._box_name(one, "by_keys")))
            within: Duration = _FOREVER
            after: Duration | None = 0  # a table is there first, and no row waits for what it may still bring
            if one.over is not None:
                # The rows of a session have one time.
                within = self._instant() if one.sessions is not None else as_duration(one.over, self.clock)
                after = None
            when = self._free("paired")
            on = " AND ".join(rest) or None
            name = self._box_name(one, "join")
            stream = sides[0].join(name, sides[1], within=within, on=on, time=when, after=after)
            stream = stream.group_by(name=self._box_name(one, "joined"))
            joined.add(relation)
            kept = [used.name for used in self.checked.used if used.relation in joined]
            stream = stream.map(
                self._box_name(one, "pairs"), {self.time: quoted(when)}, keep=kept, time_column=self.time
            )
        return stream

    def _between(self, relation: int, joined: set[int]) -> list[Condition]:
        """The conditions that can be tried once a relation is joined with others."""
        return [
            condition
            for condition in self.checked.conditions
            if relation in condition.relations
            and condition.relations <= joined | {relation}
            and condition.relations != {relation}
        ]

    def _key(self, condition: Condition, right: set[str]) -> tuple[str, str] | None:
        """The expressions of both sides whose values an equality compares; None if their types differ too much."""
        if condition.equal is None:
            return None
        a, b = condition.equal if condition.equal[1] in right else condition.equal[::-1]
        kinds = self.schema[a], self.schema[b]
        if kinds[0] is kinds[1]:
            return quoted(a), quoted(b)
        if all(kind.is_integer for kind in kinds):
            return f"cast({quoted(a)} as int64)", f"cast({quoted(b)} as int64)"
        return None

    def _free(self, name: str) -> str:
        """A name that no column of the answer has."""
        taken = {one.name.lower() for one in (*self.checked.items, *self.checked.groups)}
        taken |= {self.time.lower(), *(used.name.lower() for used in self.checked.used)}
        while name.lower() in taken:
            name += "_"
        return name

    def _columns(self, relation: int) -> StreamHandle:
        """A relation's tuples, with the columns that the query reads under their own names."""
        one = self.checked.relations[relation]
        source = self._source(one)
        if one.sessions is not None:
            return self._of_sessions(relation)
        if one.every is None or one.over is None:
            return self._renamed(source, relation, {})
        every, over = one.every, one.over
        # A row is in as many windows as overlap (decision 44); the last of them may have begun after it.
        each = []
        for number in range(1, -(-over // every) + 1):
            end, time = f"({self._ticks(one)} // {every} + {number}) * {every}", self._ticks(one)
            stream = source
            if number * every > over:
                stream = stream.filter(self._box_name(one, "begun"), f"{time} >= {end} - {over}")
            bounds = {"window_start": f"{end} - {over}", "window_end": end}
            each.append(self._renamed(stream, relation, bounds))
        return each[0].union(self._box_name(one, "windows"), *each[1:]) if len(each) > 1 else each[0]

    def _of_sessions(self, relation: int) -> StreamHandle:
        """A relation's rows with the bounds of their sessions, which it has in common with the others.

        The rows of all streams go through one Session, each with the columns of its own stream; the time of those that
        leave is that of the session's last row.
        """
        one = self.checked.relations[relation]
        number, begin = self._free("stream"), self._free("begin")
        if self.sessions is None:
            members = [at for at, other in enumerate(self.checked.relations) if other.sessions is not None]
            assert one.sessions is not None
            keys = [self._free(f"session_{place}") for place in range(1, len(one.sessions) + 1)]
            each = [self._in_common(at, members, number, keys) for at in members]
            rows = each[0].union("rows", *each[1:]) if len(each) > 1 else each[0]
            assert one.every is not None
            rows = rows.group_by(*keys, name="by_session").session(
                "sessions", {begin: "window_start()"}, gap=as_duration(one.every, self.clock), tuples=True
            )
            self.sessions = rows.group_by(name="all_sessions")
        time = quoted(self.time)
        end = (
            f"{time} + INTERVAL '{one.every} microseconds'" if self.clock is Type.TIMESTAMP else f"{time} + {one.every}"
        )
        bounds = {"window_start": quoted(begin), "window_end": end}
        columns = {used.name: bounds.get(used.column, quoted(used.name)) for used in self._used(relation)}
        stream = self.sessions.filter(self._box_name(one, "rows"), f"{quoted(number)} = {relation}")
        return stream.map(self._box_name(one, "columns"), columns, keep=[self.time])

    def _in_common(self, relation: int, members: list[int], number: str, keys: list[str]) -> StreamHandle:
        """A relation's rows with the columns of all that it has sessions in common with; those of others are null."""
        one = self.checked.relations[relation]
        assert isinstance(one.entry, StreamEntry)
        assert one.sessions is not None
        columns = {self.time: f"cast({quoted(one.entry.time)} as {self.clock})", number: str(relation)}
        for name, key in zip(keys, one.sessions, strict=True):
            whole = one.entry.schema[key].is_integer
            columns[name] = f"cast({quoted(key)} as int64)" if whole else quoted(key)
        for used in self.checked.used:
            if used.relation in members and used.column not in BOUNDS:
                own = used.relation == relation
                columns[used.name] = quoted(used.column) if own else f"cast(null as {used.type})"
        return self._source(one).map(self._box_name(one, "all_columns"), columns, keep=[], time_column=self.time)

    def _source(self, one: Relation) -> StreamHandle:
        """The source of a relation; one that FROM has twice is read once."""
        if one.name not in self.sources:
            if isinstance(one.entry, StreamEntry):
                made = self.net.source(one.name, _without_bounds(one), one.entry.time)
            else:
                schema = table_schema(one.entry.schema, self.clock)
                made = self.net.source(one.name, schema, loaded_column(one.entry.schema))
            self.sources[one.name] = made
        return self.sources[one.name]

    def _renamed(self, stream: StreamHandle, relation: int, bounds: dict[str, str]) -> StreamHandle:
        """The columns that the query reads; the bounds of windows are computed."""
        one = self.checked.relations[relation]
        time = one.entry.time if isinstance(one.entry, StreamEntry) else loaded_column(one.entry.schema)
        columns = {self.time: quoted(time)}
        for used in self._used(relation):
            text = bounds.get(used.column) if one.every is not None else None
            if text is not None and self.clock is Type.TIMESTAMP:
                text = f"cast({text} as timestamp)"
            columns[used.name] = text or quoted(used.column)
        return stream.map(self._box_name(one, "columns"), columns, keep=[], time_column=self.time)

    def _ticks(self, relation: Relation) -> str:
        """The time of a stream as an integer, as an expression."""
        assert isinstance(relation.entry, StreamEntry)
        time = quoted(relation.entry.time)
        return time if self.clock is not Type.TIMESTAMP else f"({time} - timestamp '1970-01-01')"

    def _box_name(self, relation: Relation, what: str) -> str:
        return self.net.free_name(re.sub(r"\W", "_", f"{relation.alias}_{what}"))

    def _reports(self) -> StreamHandle:
        if self.reports is None:
            self.reports = self._columns(self.checked.objects)
        return self.reports

    def _used(self, relation: int) -> list[Used]:
        return [used for used in self.checked.used if used.relation == relation]

    def _name(self, column: str | None) -> str:
        """What a column of the objects is called here."""
        return next(u.name for u in self._used(self.checked.objects) if u.column == column)

    def _candidates(self) -> StreamHandle:
        """The objects that are inside and satisfy WHERE, as far as it speaks of them alone."""
        if self.checked.inside is None:
            return self._where(self._everybody(), self.checked.objects)
        moves = self.checked.nearest is not None or self._reads_position(self.checked.conditions)
        return self._where(self._inside(self.checked.inside, moves), self.checked.objects)

    def _everybody(self) -> StreamHandle:
        """All objects: the latest report of each."""
        if self.everybody is None:
            self.everybody = self._latest(self._reports(), self.checked.objects)
        return self.everybody

    def _inside(self, inside: Inside, moves: bool) -> StreamHandle:
        from arterial.moving.boxes.gpac import gpac_in  # only where it is asked for: it takes a while to load

        where: dict[str, Any]
        if isinstance(inside, Region):
            where = {"region": (inside.x1, inside.y1, inside.x2, inside.y2)}
        else:
            where = {"focal": inside.focal, "length": inside.length, "width": inside.width}
        stream = gpac_in(
            self._reports(),
            "gpac_in",
            timeout=self.settings.timeout,
            moves=moves,
            **where,
            **self._following(),
        )
        return stream if moves else self._without_position(stream, "inside")

    def _nearest(self, nearest: Nearest) -> StreamHandle:
        """The k nearest of the objects that qualify: that have a match in every other relation."""
        from arterial.moving.boxes.gpac import gpac_knn

        own = [one for one in self.checked.conditions if one.relations <= {self.checked.objects}]
        others = len(self.checked.relations) > 1
        plain = self.checked.inside is None and not own and not others
        stream = self._reports() if plain else self._candidates()
        if others:
            columns = [used.name for used in self._used(self.checked.objects)]
            stream = self._matched(stream, "qualify").map("qualified", keep=[self.time, *columns])
            stream = stream.distinct("qualified_once")
        moves = self._reads_position([one for one in self.checked.conditions if one not in own])
        moving = isinstance(nearest, NearestToMoving)
        stream = gpac_knn(
            stream,
            "gpac_knn",
            k=nearest.k,
            at=None if isinstance(nearest, NearestToMoving) else (nearest.x, nearest.y),
            focal=nearest.focal if isinstance(nearest, NearestToMoving) else None,
            timeout=self.settings.timeout if plain else None,
            focals=self._everybody() if moving and not plain else None,
            moves=moves,
            **self._following(),
        )
        return stream if moves else self._without_position(stream, "nearest")

    def _following(self) -> dict[str, Any]:
        columns = {"object": self.entry.object, "x": self.entry.x, "y": self.entry.y}
        names = {role: self._name(column) for role, column in columns.items()}
        return {**names, "cache": self.settings.cache, "lonlat": self.settings.lonlat}

    def _reads_position(self, conditions: Iterable[Condition]) -> bool:
        """Whether what follows reads where objects are, so that every move must be reported."""
        texts = [one.text for one in conditions]
        if self.checked.grouped:
            texts += [one.text for one in (*self.checked.groups, *self.checked.aggregates)]
        else:
            texts += [one.text for one in self.checked.items]
        position = {self._name(self.entry.x), self._name(self.entry.y)}
        return any(position & set(reads(parse(text, self.schema, self.clock))) for text in texts)

    def _without_position(self, stream: StreamHandle, name: str) -> StreamHandle:
        position = (self._name(self.entry.x), self._name(self.entry.y))
        kept = [self.time, *(used.name for used in self._used(self.checked.objects) if used.name not in position)]
        return stream.map(name, keep=kept)

    def _latest(self, reports: StreamHandle, relation: int) -> StreamHandle:
        """A stream of reports as a relation; one without objects is a relation that only grows."""
        one = self.checked.relations[relation]
        if not isinstance(one.entry, StreamEntry) or one.entry.object is None:
            return reports
        key = next(used.name for used in self._used(relation) if used.column == one.entry.object)
        name = self._box_name(one, "latest")
        return reports.latest(name, key, timeout=self.settings.timeout)

    def _where(self, stream: StreamHandle, relation: int) -> StreamHandle:
        own = [
            one.text
            for one in self.checked.conditions
            if one.relations == {relation} or (not one.relations and relation == self.checked.objects)
        ]
        if not own:
            return stream
        text = own[0] if len(own) == 1 else " AND ".join(f"({one})" for one in own)
        return stream.filter(self._box_name(self.checked.relations[relation], "where"), text)

    def _other(self, relation: int) -> StreamHandle:
        """Another relation, with what WHERE says of it alone."""
        if relation not in self.others:
            self.others[relation] = self._where(self._latest(self._columns(relation), relation), relation)
        return self.others[relation]

    def _matched(self, stream: StreamHandle, prefix: str) -> StreamHandle:
        """The stream joined with all other relations, one after the other."""
        joined = {self.checked.objects}
        for relation, one in enumerate(self.checked.relations):
            if relation not in joined:
                conditions = self._between(relation, joined)
                mine = {used.name for used in self._used(relation)}
                on = " AND ".join(f"({_sided(condition.text, mine)})" for condition in conditions)
                stream = stream.match(self._box_name(one, prefix), self._other(relation), on=on or None)
                joined.add(relation)
        return stream

    def _grouped(self, stream: StreamHandle) -> StreamHandle:
        checked = self.checked
        computed = {one.name: one.text for one in checked.groups if one.text != quoted(one.name)}
        if computed:
            stream = stream.map("groups", computed)
        grouped = stream.group_by(*(one.name for one in checked.groups), name="group_by")
        values = {one.name: one.text for one in checked.aggregates}
        stream = grouped.aggregate("aggregate", values).group_by(name="all_groups")
        return stream if checked.having is None else stream.filter("having", checked.having)


def _without_bounds(relation: Relation) -> Schema:
    """The columns that the source of a stream has."""
    fields = relation.entry.schema.fields
    return Schema(fields if relation.every is None else fields[: -len(BOUNDS)])


def _sided(text: str, right: Iterable[str]) -> str:
    """A condition whose columns say of which side of a match they are."""
    names = set(right)

    def sided(part: exp.Expression) -> exp.Expression:
        if isinstance(part, exp.Column):
            return exp.column(part.name, table=RIGHT if part.name in names else LEFT, quoted=True)
        return part

    return sqlglot.parse_one(text, read=Dialect).transform(sided).sql(dialect=Dialect)
