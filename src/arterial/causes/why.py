"""`why`: from a network, its sources and a condition on a row to what caused that row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.causes.explanation import Explanation, Numbered, Said, in_words
from arterial.causes.points import from_points
from arterial.causes.replay import find_rows, read_parts, readable_again
from arterial.causes.trace import Place, Trace, scopes, upstream
from arterial.connectors.tables.source import TableSource
from arterial.errors import RunError, near
from arterial.face.bindings import check_names, sources_from, value_of
from arterial.network.box import Stream
from arterial.network.network import NetworkValue
from arterial.reference.parts.causes import Region, listed
from arterial.reference.parts.scalar import value_to_instant
from arterial.reference.parts.stream import group_of

if TYPE_CHECKING:
    from arterial.drawing import Network

SECONDS = 20.0
"""How long tuples are left out, one after the other, to see whether the row changes."""
LISTED = 5
"""So many of the rows that fit are listed where a condition fits several."""


class SeveralRowsError(RunError):
    """A condition fits several rows; `rows` has the first of them."""

    def __init__(self, message: str, rows: list[dict[str, Any]]) -> None:
        super().__init__(message)
        self.rows = rows


def why(
    network: Network | NetworkValue,
    output: str,
    condition: str = "",
    sources: Mapping[str, Any] | None = None,
    /,
    *,
    row: int | None = None,
    seconds: float = SECONDS,
    **more: Any,
) -> Explanation:
    """Why a row of an output is as it is: the tuples that caused it, box by box, back to the sources.

    The `condition` is an expression over the columns of the output that fits one row; of several, `row` says which,
    counted from 1. Sources are given as for `collect`. They are read again, and the tuples that could have changed the
    row, by group and time, are left out one after the other, for so many `seconds` at most.

    >>> import arterial as art
    >>> net = art.Network("speeding")
    >>> reports = net.source("reports", {"time": int, "car": int, "speed": int})
    >>> _ = reports.filter("fast", "speed > 100").output("alerts")
    >>> given = [{"time": 0, "car": 1, "speed": 90}, {"time": 1, "car": 2, "speed": 120}]
    >>> art.why(net, "alerts", "car = 2", reports=given).causes[0].values
    {'time': 1, 'car': 2, 'speed': 120}
    """
    value = value_of(network)
    given = {**(sources or {}), **more}
    check_output(value, output)
    path = upstream(value, output)
    needed = path.source_names
    check_names(path, [name for name in given if name in needed or name not in value.source_names], outputs=False)
    bound = sources_from(path, {name: given[name] for name in needed})
    return explain_row(path, bound, output, condition, row=row, seconds=seconds)


def explain_row(
    network: NetworkValue,
    sources: Mapping[str, Any],
    output: str,
    asked: str | Mapping[str, Any],
    *,
    row: int | None = None,
    seconds: float = SECONDS,
    points: Path | None = None,
) -> Explanation:
    """The same for the sources of a run. `asked` is a condition, or the values of the row as JSON holds them.

    `points` is the folder of the run's connection points; they stand in for sources that cannot be read again.
    """
    check_output(network, output)
    path, sources, notes = from_points(upstream(network, output), sources, points)
    again = {name: readable_again(name, sources.get(name)) for name in path.source_names}
    rows, number = find_rows(path, again, output, asked)
    chosen = _choose(path, output, _in_words(asked), rows, number, row)
    stream = path.box(output).fed_by["in"]
    regions = scopes(path, output, region_of(chosen, stream))
    trace = Trace(path, output, read_parts(path, again, regions))
    notes += [
        f"source {name!r} is a table outside; it was read as it is now, which may not be as the run read it"
        for name, source in again.items()
        if isinstance(source, TableSource)
    ]
    return explain(trace, chosen, seconds, tuple(notes))


def region_of(row: Mapping[str, Any], stream: Stream) -> Region:
    """The part of a stream that holds the rows which are equal to one."""
    where = {name: frozenset(group_of(row, (name,))) for name in stream.schema.names}
    if row[stream.time] is None:
        return Region(where=where)
    now = value_to_instant(row[stream.time])
    return Region(now, now, where)


def explain(trace: Trace, row: Mapping[str, Any], seconds: float = SECONDS, notes: tuple[str, ...] = ()) -> Explanation:
    """What a trace says of a row that arrived at its output."""
    equal = trace.places(row)
    if not equal:
        raise RunError(
            f"output {trace.output!r}: the interpreter does not give this row from the tuples concerned: "
            f"{in_words(row)}; a box of the network does not do what its meaning says, or its scope is too small"
        )
    steps = trace.steps(equal[0])
    candidates = trace.sources()
    places = dict.fromkeys([(trace.arrives, equal[0]), *(p for step in steps for p in (step.made, *step.used))])
    came = set(candidates)
    used = [place for place in places if place in came]
    needed = trace.needed(row, [*used, *(one for one in candidates if one not in places)], seconds)
    number: dict[int, int] = {}
    for port, at in _back_to_sources(trace, places):
        number.setdefault(id(trace.streams[port][at]), len(number) + 1)

    def number_of(place: Place) -> int:
        return number[id(trace.streams[place[0]][place[1]])]

    boxes = {box.name: box.kind for box in trace.network.boxes}
    said_of = tuple(
        Said(
            step.made[0].box,
            boxes[step.made[0].box],
            number_of(step.made),
            tuple(number_of(one) for one in step.used),
            step.words,
        )
        for step in steps
    )
    known = {number_of(place): _numbered(trace, place, number_of(place), needed.get(place)) for place in places}
    known |= {number_of(place): _numbered(trace, place, number_of(place), needed.get(place)) for place in used}
    others = [place for place, is_needed in needed.items() if is_needed and place not in places]
    also = tuple(_numbered(trace, place, len(number) + i, True) for i, place in enumerate(others, 1))
    said = [*notes]
    if len(needed) < len(candidates):
        said.append(
            f"only {len(needed):,} of {len(candidates):,} tuples were tried in {seconds:g} s; give more with --seconds"
        )
    return Explanation(
        network=trace.network.name,
        output=trace.output,
        row=row,
        steps=said_of,
        tuples=tuple(known[one] for one in sorted(known)),
        also_needed=also,
        equal=len(equal),
        in_scope=len(candidates),
        tried=len(needed),
        notes=tuple(said),
    )


def _in_words(asked: str | Mapping[str, Any]) -> str:
    return asked if isinstance(asked, str) else listed(asked, asked)


def check_output(network: NetworkValue, output: str) -> None:
    """Raise if a network has no such output."""
    names = network.output_names
    if output not in names:
        raise RunError(
            f"network {network.name!r} has no output {output!r}; it has: {', '.join(names) or 'none'}"
            f"{near(output, names)}"
        )


def _choose(
    network: NetworkValue, output: str, condition: str, rows: list[dict[str, Any]], number: int, row: int | None
) -> dict[str, Any]:
    asked = f"with {condition}" if condition.strip() else "at all"
    if not rows:
        columns = ", ".join(network.box(output).fed_by["in"].schema.names)
        raise RunError(
            f"output {output!r}: no row {asked} when the input is read again; its columns are: {columns}. Was another "
            "input meant, or has the run not come so far?"
        )
    if row is not None:
        if not 1 <= row <= len(rows):
            raise RunError(f"output {output!r}: there are {number:,} rows {asked}; --row {row} is not one of them")
        return rows[row - 1]
    names = tuple(rows[0])
    if number > 1 and len({group_of(one, names) for one in rows}) > 1:
        first = "\n".join(f"  {i}: {in_words(one)}" for i, one in enumerate(rows[:LISTED], 1))
        more = f"\n  … and {number - LISTED:,} more" if number > LISTED else ""
        raise SeveralRowsError(
            f"output {output!r}: {number:,} rows {asked}; ask about one of them, with a narrower condition or by its "
            f"number (--row 1, in Python row=1):\n{first}{more}",
            rows,
        )
    return rows[0]


def _back_to_sources(trace: Trace, places: Iterable[Place]) -> list[Place]:
    """From the output back: boxes in the reverse of their order, and the tuples of each in order."""
    rank = {box.name: -i for i, box in enumerate(trace.network.order)}
    return sorted(places, key=lambda place: (rank[place[0].box], place[0].port, place[1]))


def _numbered(trace: Trace, place: Place, number: int, needed: bool | None) -> Numbered:
    port, at = place
    is_source = not trace.network.box(port.box).inputs
    return Numbered(number, trace.streams[port][at], port.box if is_source else "", needed if is_source else None)
