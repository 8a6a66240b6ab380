"""Some tuples through a part of a network, on a copy: what each box got and gave, and the same as a test to keep.

Nothing of this touches a run: the part begins with empty state, and runs in the interpreter of this process.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from arterial.boxes.ends.output import Output
from arterial.boxes.ends.source import Source
from arterial.boxes.tuples.group_by import GroupBy
from arterial.drawing.as_python import as_python
from arterial.engine.plan.description import NetworkFacts
from arterial.errors import NetworkError, RunError
from arterial.face.collect import collect
from arterial.network.box import Box
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.schema import Schema, Type
from arterial.reference.interpret import interpret

Row = Mapping[str, Any]
MOST_ROWS = 2000


def behind(network: NetworkValue, arc: Arc) -> NetworkValue:
    """The part of a network that an arc alone feeds, with a source in the place of the arc's beginning.

    Where a stream leaves that part, for a box that has other inputs too, it has an output.
    """
    stream = network.streams[arc.begin]
    inside: list[Box] = []
    fed = {arc.end}
    for box in network.order:
        ends = [Port(box.name, port) for port in box.inputs]
        if ends and all(end in fed for end in ends):
            inside.append(box)
            fed.update(network.behind(box))
    names = {box.name for box in inside}
    if arc.end.box not in names:
        others = [
            str(begin) for port, begin in network.arrivals(network.box(arc.end.box)).items() if port != arc.end.port
        ]
        raise RunError(
            f"the box {arc.end.box!r} needs {', '.join(others)} too, so the tuples of {arc} alone say nothing of it; "
            "choose an arc before, or one behind"
        )
    source = _free(arc.begin.box if arc.begin.box not in names else "tuples", names)
    boxes: list[Box] = [Source(source, stream.schema, stream.time, signed=stream.signed)]
    begin = Port(source, boxes[0].outputs[0])
    arcs: list[Arc] = []
    taken = {source, *names}
    start, grouped = begin, stream.keyed_by
    if grouped:
        again = _free("by_" + "_".join(grouped), taken)
        taken.add(again)
        boxes.append(GroupBy(again, grouped))
        arcs.append(Arc(begin, Port(again, "in")))
        start = Port(again, "out")
    boxes += inside
    for box in inside:
        for port, feeding in network.arrivals(box).items():
            own = start if Arc(feeding, Port(box.name, port)) == arc else feeding
            arcs.append(Arc(own, Port(box.name, port)))
    for box in inside:
        for port in box.outputs:
            leaving = Port(box.name, port)
            led = network.departures(leaving)
            unseen = port == box.outputs[0] and not led
            if unseen or any(end.box not in names for end in led):
                name = _free(f"{box.name}_{port}", taken)
                taken.add(name)
                boxes.append(Output(name))
                arcs.append(Arc(leaving, Port(name, "in")))
    return NetworkValue(f"{network.name}, behind {arc.begin.box}", tuple(boxes), tuple(arcs))


def traced(network: NetworkValue, given: Mapping[str, Sequence[Row]]) -> dict[str, list[dict[str, Any]]]:
    """The tuples of every port and output for tuples of the sources."""
    known = set(network.source_names)
    for name in given:
        if name not in known:
            raise RunError(f"there is no source {name!r}; there are: {', '.join(sorted(known))}")
    if sum(map(len, given.values())) > MOST_ROWS:
        raise RunError(f"expected at most {MOST_ROWS:,} tuples to try")
    rows = {}
    for name, some in given.items():
        schema = network.streams[Port(name, network.box(name).outputs[0])].schema
        rows[name] = [_typed(row, schema, f"source {name!r}, tuple {number}") for number, row in enumerate(some, 1)]
    try:
        found = interpret(network, rows)
    except (TypeError, ValueError, KeyError, ZeroDivisionError, OverflowError) as mistake:
        raise RunError(f"the tuples cannot be run: {type(mistake).__name__}: {mistake}") from None
    return {name: [dict(one) for one in tuples] for name, tuples in found.items()}


def as_test(network: NetworkValue, arc: Arc, rows: Sequence[Row]) -> str:
    """A pytest file: these tuples through the part behind the arc give what they give now."""
    part = behind(network, arc)
    source = part.boxes[0].name
    if len(rows) > MOST_ROWS:
        raise RunError(f"expected at most {MOST_ROWS:,} tuples for a test")
    schema = part.streams[Port(source, part.boxes[0].outputs[0])].schema
    given = [_typed(row, schema, f"tuple {number}") for number, row in enumerate(rows, 1)]
    outputs = {name: frame.to_dicts() for name, frame in collect(part, {source: given}).items()}
    drawn = as_python(part)
    imports, _, body = drawn.partition("\n\n")
    title = f"Tuples of the arc {arc} of the network {network.name}, and what came of them."
    expected = "".join(f"    {name!r}: {_rows(some, 4)},\n" for name, some in outputs.items())
    lines = ['"""' + title.replace("\\", "/").replace('"', "'") + '"""', ""]
    if "datetime.datetime(" in repr((given, outputs)):
        lines += ["import datetime", ""]
    lines += [*imports.splitlines(), "", body, f"TUPLES = {_rows(given)}", "", f"EXPECTED = {{\n{expected}}}"]
    lines += ["", "", "def test_what_comes_out() -> None:"]
    lines += [f"    outputs = art.collect(net, {{{source!r}: TUPLES}})"]
    lines += ["    assert {name: outputs[name].to_dicts() for name in EXPECTED} == EXPECTED", ""]
    return "\n".join(lines)


def as_parquet(facts: NetworkFacts, arc: str, rows: Sequence[Row]) -> bytes:
    """Tuples of an arc as a Parquet file, with the types of its columns."""
    columns = next((one.columns for one in facts.arcs if one.name == arc), None)
    if columns is None:
        raise NetworkError(f"network {facts.name!r} has no arc {arc!r}")
    schema = Schema.of({name: Type(kind) for name, kind in columns.items()})
    typed = [_typed(row, schema, f"tuple {number}") for number, row in enumerate(rows, 1)]
    try:
        frame = pl.DataFrame(typed, schema=schema.polars(), orient="row")
    except (pl.exceptions.PolarsError, OverflowError, TypeError) as mistake:
        raise RunError(f"the tuples do not fit the columns of {arc}: {mistake}") from None
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def find_arc_of(network: NetworkValue, name: str) -> Arc:
    """The arc of that name."""
    for arc in network.arcs:
        if str(arc) == name:
            return arc
    raise NetworkError(f"network {network.name!r} has no arc {name!r}")


def as_plain(value: Any) -> Any:
    """A value as JSON holds it; with texts where a page has no such numbers, as `frames.py` gives them."""
    if isinstance(value, Mapping):
        return {str(name): as_plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(part) for part in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 1 << 53 else str(value)
    return value if isinstance(value, float) and math.isfinite(value) else str(value)


def _typed(row: Row, schema: Schema, where: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise RunError(f"{where}: expected columns and values, got {row!r}")
    for name in row:
        if name not in schema:
            raise RunError(f"{where}: there is no column {name!r}; there are: {', '.join(schema.names)}")
    typed: dict[str, Any] = {}
    for field in schema:
        value = row.get(field.name)
        if value is None:
            typed[field.name] = None
            continue
        try:
            if field.type is Type.TIMESTAMP:
                typed[field.name] = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            elif field.type is Type.STRING:
                typed[field.name] = str(value)
            elif field.type is Type.BOOL:
                if not isinstance(value, bool):
                    raise ValueError(value)
                typed[field.name] = value
            elif field.type is Type.FLOAT64:
                typed[field.name] = float(value)
            else:
                typed[field.name] = _whole(value)
        except (TypeError, ValueError, OverflowError):
            raise RunError(f"{where}, column {field.name!r}: expected {field.type}, got {value!r}") from None
    return typed


def _whole(value: Any) -> int:
    """A whole number; a page gives one beyond 2**53 as text, since it has no such numbers."""
    if isinstance(value, str):
        return int(value)
    whole = int(value)
    if whole != value:
        raise ValueError(value)
    return whole


def _free(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _rows(rows: Sequence[Row], indent: int = 0) -> str:
    if not rows:
        return "[]"
    pad = " " * indent
    return "[\n" + "".join(f"{pad}    {dict(row)!r},\n" for row in rows) + f"{pad}]"
