"""`arterial.attach`: a query on a connection point or view of a run, wherever that run is at work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from arterial.connectors.points.conditions import Condition
from arterial.connectors.points.source import PointSource
from arterial.connectors.source import Ask, Part, Progress, Source
from arterial.drawing import Network
from arterial.engine.attach.adopt import adopted, in_groups
from arterial.engine.attach.attachment import Attachment, TokenPlace
from arterial.engine.attach.places import Dropped, Place, find_place
from arterial.engine.attach.token import Token, TokenState, read_token
from arterial.engine.run.checkpoint.folder import find_checkpoint
from arterial.engine.run.figures.status import read_status
from arterial.errors import NetworkError, RunError, near
from arterial.network.box import OUT
from arterial.network.duration import units
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Schema, Type
from arterial.network.train import BEGIN, END
from arterial.sql.pushdown import columns_used, conditions_of, equal_columns
from arterial.sql.text.mistake import Place as Where
from arterial.sql.text.mistake import SqlError

if TYPE_CHECKING:
    from arterial.sql.inputs.reading import Input

Query = str | Network | NetworkValue
When = int | str | datetime
"""A time: in the unit of the stream, as text, or a duration before now ('1 hour')."""

_BOUND = re.compile(r"\s(SINCE|UP\s+TO)\s+('[^']*'|[-\w.:+]+)\s*;?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Options:
    """How a query is attached."""

    since: When | None = None
    up_to: When | None = None
    object: str | None = None
    """The column that says which object: the stream then stands for the latest row of each."""
    tables: Mapping[str, Input] = field(default_factory=dict)
    follow: bool = False
    skip_lost: bool = False
    token: str | None = None
    token_file: Path | None = None


def attach(
    folder: str | Path,
    point: str,
    query: Query | None = None,
    *,
    since: When | None = None,
    up_to: When | None = None,
    object: str | None = None,
    follow: bool = False,
    skip_lost: bool = False,
    token: str | None = None,
    token_file: str | Path | None = None,
) -> Attachment:
    """A query on a connection point or view of a run: its history first, then live, as an iterable of answers.

    `folder` is the output folder or the checkpoint of the run, which may be at work in any process of this machine.
    `query` is SQL (`"SELECT seg, count(*) FROM reports GROUP BY seg, TUMBLE(time, '1 minute')"`), a network with
    a source of the point's name, or None for all tuples. It runs here and does not touch the run.

    `since` and `up_to` are times, or durations before now; a `token` of an earlier answer goes on from there, and
    `token_file` keeps it with the state. The iteration ends with the run; `follow` waits for a run that has stopped.
    """
    options = Options(
        since, up_to, object, {}, follow, skip_lost, token, None if token_file is None else Path(token_file)
    )
    return attach_to(find_checkpoint(Path(folder)), point, query, options)


def attach_to(
    checkpoint: Path,
    point: str,
    query: Query | None,
    options: Options,
    *,
    active: Callable[[], bool] | None = None,
    resume: TokenPlace | None = None,
) -> Attachment:
    """The same, on a checkpoint; `active` says whether the run is at work."""
    place = find_place(checkpoint, point)
    query, options = _with_bounds(query, options)
    resume = resume or resume_from(options)
    token = resume.kept.token if resume.kept else resume.token
    since, up_to = _bounds(place, options, token)
    network, folders = place.complete(_network(place, query, options), options.tables, since)
    tables = options.tables
    points: dict[str, PointSource] = {}
    for source, folder in folders.items():
        conditions = (*conditions_of(network, source), *_joined(network, source, tables))
        first = None if place.remembers else since
        points[source] = PointSource(folder, first, up_to, conditions, options.skip_lost)
    rows: dict[str, Source] = {name: _Rows(given) for name, given in _table_rows(network, tables, points).items()}
    return Attachment(
        network,
        {**points, **rows},
        active=active or (lambda: _is_active(checkpoint)),
        dropped=Dropped(checkpoint).first,
        since=since,
        follow=options.follow,
        resume=resume,
    )


def adopted_network(network: NetworkValue, point: str, query: Query, output: str) -> NetworkValue:
    """The network with a query on one of its connection points or views, whose answer leaves by a new output."""
    stream = network.streams.get(Port(point, OUT))
    value = query.value if isinstance(query, Network) else query
    source = point
    if isinstance(value, str):
        text, *bounds = cut_bounds(value)
        if any(bounds):
            raise RunError("a query that is adopted has no beginning and no end; leave out SINCE and UP TO")
        if stream is None:
            raise RunError(
                f"network {network.name!r} has no connection point or view {point!r}"
                + near(point, [box.name for box in network.boxes])
            )
        value = in_groups(_compiled(Place(point, replace(stream, keyed_by=()), {}), text, Options()))
    else:
        source = next((box.name for box in value.boxes if not box.inputs), point)
    return adopted(network, point, value, source, output)


def resume_from(options: Options) -> TokenPlace:
    """What a token, as text or in a file, says to go on from."""
    if options.token is not None and options.token_file is not None and options.token_file.exists():
        raise RunError(f"expected a token, or the file {options.token_file} that has one, not both")
    kept: TokenState | None = None if options.token_file is None else read_token(options.token_file)
    return TokenPlace(None if options.token is None else Token.of(options.token), kept, options.token_file)


def instant(value: When, kind: Type, source: PointSource) -> int:
    """A time in the unit of the stream; a duration counts back from what is complete."""
    if isinstance(value, datetime):
        if kind is not Type.TIMESTAMP:
            raise RunError(f"the time of the connection point is a number ({kind}); got {value}")
        return _microseconds(value)
    if isinstance(value, int):
        return value
    if kind is not Type.TIMESTAMP and re.fullmatch(r"[+-]?\d+", value.strip()):
        return int(value)
    length = _length(value, kind)
    if length is not None:
        complete = source.look().through
        latest = max((file.latest for file in source.look().files), default=0)
        return (latest if complete in (BEGIN, END) else complete) - length + 1
    if kind is Type.TIMESTAMP:
        try:
            return _microseconds(datetime.fromisoformat(value.strip()))
        except ValueError:
            pass
    wanted = "a date and time such as '2026-03-01T12:00:00'" if kind is Type.TIMESTAMP else "a number of seconds"
    raise RunError(f"{value!r} is not a time; expected {wanted}, or how long before now, such as '1 hour'")


def _length(value: When | None, kind: Type) -> int | None:
    """How long before now a time is, if that is how it is given."""
    if not isinstance(value, str) or re.fullmatch(r"[+-]?\d+", value.strip()):
        return None
    try:
        return units(value, kind, "the time")
    except NetworkError:
        return None


def _microseconds(value: datetime) -> int:
    value = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    since = value - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def cut_bounds(text: str) -> tuple[str, str | None, str | None]:
    """A query without SINCE and UP TO at its end, and what they say.

    >>> cut_bounds("SELECT * FROM r SINCE 3600 UP TO '1 hour'")
    ('SELECT * FROM r', '3600', '1 hour')
    """
    found: dict[str, str] = {}
    while match := _BOUND.search(text):
        word = "since" if match[1].upper() == "SINCE" else "up to"
        if word in found:
            raise SqlError(f"{match[1].upper()} stands here twice", text, Where(*match.span(1)))
        found[word] = match[2].strip("'")
        text = text[: match.start()]
    return text, found.get("since"), found.get("up to")


def _with_bounds(query: Query | None, options: Options) -> tuple[Query | None, Options]:
    """A query without SINCE and UP TO at the end of its text, and the options with them."""
    if not isinstance(query, str):
        if query is None and options.tables:
            raise RunError(f"the table {next(iter(options.tables))!r} is for a query that joins with it; none came")
        if options.object is not None:
            raise RunError(f"object {options.object!r} is for a query in SQL; leave it out")
        return query, options
    text, since, up_to = cut_bounds(query)
    for word, said, given in (("SINCE", since, options.since), ("UP TO", up_to, options.up_to)):
        if said is not None and given is not None:
            raise RunError(f"{word} stands in the query and is given as an option too; leave one out")
    return text, replace(options, since=since or options.since, up_to=up_to or options.up_to)


def _bounds(place: Place, options: Options, token: Token | None) -> tuple[int | None, int | None]:
    """Where the answer begins and ends. A token knows where it began: so long before the now of then."""
    kind = place.stream.schema[place.stream.time]
    points = [PointSource(folder) for folder in place.folders.values()]

    def when(value: When | None) -> int | None:
        return None if value is None else max(instant(value, kind, one) for one in points)

    since, up_to = when(options.since), when(options.up_to)
    if token is not None and (since is None or (token.since is not None and _length(options.since, kind) is not None)):
        since = token.since
    if since is not None and up_to is not None and up_to < since:
        begin, end = _shown(since, options.since, kind), _shown(up_to, options.up_to, kind)
        raise RunError(f"the answer would end before it begins: it begins at {begin}, up to {end}")
    return since, up_to


def _shown(at: int, given: When | None, kind: Type) -> str:
    """A time as it was given; where that was a duration, also the time that it leads to."""
    if _length(given, kind) is None:
        return str(given)
    when = str(at) if kind is not Type.TIMESTAMP else f"{datetime.fromtimestamp(at / 1e6, UTC):%Y-%m-%d %H:%M:%S}"
    return f"{when} ({given} before now)"


def _network(place: Place, query: Query | None, options: Options) -> NetworkValue:
    """The network of a query, on a source of the place's name."""
    if isinstance(query, str):
        return _compiled(place, query, options)
    if query is None:
        net = Network(place.name)
        net.source(place.name, place.stream.schema, place.stream.time, signed=place.stream.signed).output("answer")
        return net.value
    return query.value if isinstance(query, Network) else query


def _compiled(place: Place, text: str, options: Options) -> NetworkValue:
    from arterial.sql.catalog import Catalog, StreamEntry
    from arterial.sql.compile import compile_sql
    from arterial.sql.text.parse import parse_query

    if place.stream.signed:
        raise RunError(
            f"{place.name!r} carries the changes of an answer (a signed stream), which SQL cannot ask; attach a network"
        )
    asked = parse_query(text)
    entry = StreamEntry.of(place.stream.schema, time=place.stream.time, object=options.object)
    if options.object is None and asked.inside is None and asked.nearest is None:
        entry = replace(entry, object=None)
    named = [one for one in asked.relations if one.name.lower() == place.name.lower()]
    known = [place.name, *options.tables]
    for one in asked.relations:
        if one.name.lower() not in {name.lower() for name in known}:
            raise SqlError(f"nothing is behind {one.name!r}; there is: {', '.join(known)}", text, one.place)
    if not named:
        raise SqlError(f"the query does not read {place.name!r}", text, asked.relations[0].place)
    entries = {name: given.entry for name, given in options.tables.items()}
    network = compile_sql(text, Catalog({place.name: entry, **entries})).value
    # Once more with the columns that it uses: others are not even read.
    used = columns_used(network, place.name)
    fields = tuple(one for one in entry.schema if one.name in used)
    return compile_sql(text, Catalog({place.name: replace(entry, schema=Schema(fields)), **entries})).value


def _joined(network: NetworkValue, source: str, tables: Mapping[str, Input]) -> list[Condition]:
    """What a join with tables that are known leaves of a source: `on` says that columns are equal."""
    found = []
    types = network.streams[Port(source, network.box(source).outputs[0])].schema
    for name, given in tables.items():
        for mine, theirs in equal_columns(network, source, name):
            here, there = types[mine], given.entry.schema[theirs]
            if here is not there and not (here.is_integer and there.is_integer):
                continue  # what equals what is for the join to say
            values = given.rows[theirs].to_physical().drop_nulls().unique().sort().to_list()
            found.append(Condition(mine, values=tuple(values)))
    return found


def _table_rows(
    network: NetworkValue, tables: Mapping[str, Input], points: Mapping[str, PointSource]
) -> dict[str, pl.DataFrame]:
    """What comes at the sources of tables, before all else."""
    firsts = [file.earliest for one in points.values() for file in one.look().files]
    first = min(firsts, default=0)
    made = {}
    for box in network.boxes:
        if not box.inputs and box.name not in points:
            if box.name not in tables:
                raise RunError(
                    f"network {network.name!r}: nothing stands behind the source {box.name!r}; expected the sources: "
                    f"{', '.join(points)}"
                )
            stream = network.streams[Port(box.name, box.outputs[0])]
            loaded = pl.lit(first, pl.Int64).cast(stream.schema[stream.time].polars).alias(stream.time)
            made[box.name] = tables[box.name].rows.with_columns(loaded).select(stream.schema.names)
    return made


class _Rows(Source):
    """The rows of a table: all at once, before anything else; complete as far as the others are."""

    keeps_up: ClassVar[bool] = True

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows = rows

    def begin(self) -> Progress:
        """Nothing is read."""
        return Progress({"done": False}, BEGIN)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """As far as the others are."""
        assert ask.until is not None
        return before if ask.until <= before.through else Progress({"done": True}, ask.until)

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """All rows the first time."""
        return self._rows.clear() if before.position["done"] else self._rows


def _is_active(checkpoint: Path) -> bool:
    status = read_status(checkpoint)
    return status is not None and status.is_active


__all__ = ["Attachment", "Options", "adopted_network", "attach", "attach_to", "cut_bounds", "instant"]
