"""Random small networks for the conformance suite: sources, some boxes of every kind, an output at every loose end."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.schema import Schema, Type
from tests.conformance.expressions import texts
from tests.conformance.tuples import SCHEMA

GROUPINGS = [(), ("k",), ("j",), ("k", "j"), ("s",), ("b", "k")]


@st.composite
def networks(draw: st.DrawFn, schema: Schema = SCHEMA, time: str = "t", most: int = 5) -> Network:
    """A network of up to two sources and a few boxes, each fed by any stream before it."""
    net = Network("random")
    streams = [
        net.source(f"source{i}", schema, time, disorder=draw(st.sampled_from([0, 1, 3])))
        for i in range(draw(st.integers(1, 2)))
    ]
    loose = [stream.late for stream in streams]
    for i in range(draw(st.integers(1, most))):
        add = draw(st.sampled_from(BOXES))
        stream = draw(st.sampled_from(streams))
        try:
            made = add(draw, net, f"box{i}", stream, streams)
        except NetworkError:  # this box does not fit here: no order, or no such column; draw another one
            continue
        streams.append(made)
        box = net.value.box(made.port.box)
        loose += [made.port_named(port) for port in box.outputs[1:]]
    used = {arc.begin for arc in net.value.arcs}
    for i, stream in enumerate([s for s in [*streams, *loose] if s.port not in used]):
        stream.output(f"output{i}")
    return net


Draw = st.DrawFn
Add = Callable[[Draw, Network, str, StreamHandle, list[StreamHandle]], StreamHandle]


def _condition(draw: Draw, schema: Schema) -> str:
    return draw(texts(schema, Type.BOOL, 1))


def _filter(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    made = stream.filter(name, _condition(draw, stream.schema))
    return draw(st.sampled_from([made, made.otherwise]))


def _map(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    kinds = {"x": Type.INT64, "f": Type.FLOAT64, "s": Type.STRING}
    columns = {c: draw(texts(stream.schema, kind, 1)) for c, kind in kinds.items() if draw(st.booleans())}
    return stream.map(name, columns or {"y": "1"})


def _retimed(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    time = stream.type.time
    text = draw(st.sampled_from([f"{time} + n", f"{time} - n % 3", f"coalesce(n, {time})"]))
    return stream.map(f"{name}_time", late_time=text, time_column="late_time").bsort(name, draw(st.integers(0, 5)))


def _drop(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.drop(name, draw(st.sampled_from([0.0, 0.3, 0.7, 1.0])), seed=draw(st.integers(0, 5)))


def _union(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    return stream.union(name, *draw(st.lists(st.sampled_from(_like(stream, others)), min_size=1, max_size=2)))


def _group(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.group_by(*draw(st.sampled_from(GROUPINGS)), name=name)


def _values(draw: Draw, stream: StreamHandle, holistic: bool, start: bool = True) -> dict[str, str]:
    names = [f.name for f in stream.schema]
    numbers = [f.name for f in stream.schema if f.type.is_number]
    options = ["count(*)", *(f"{a}({n})" for n in names for a in ("count", "min", "max", "first", "last"))]
    options += [f"{a}({n})" for n in numbers for a in ("sum", "avg", "stddev")]
    options += [f"max({n}) + count(*)" for n in numbers]
    options += ["window_start()"] if start else []
    options += [f"count(distinct {n})" for n in names] if holistic else []
    chosen = draw(st.lists(st.sampled_from(options), min_size=1, max_size=4))
    return {f"v{i}": text for i, text in enumerate(chosen)}


def _tumble(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = _values(draw, stream, draw(st.booleans()))
    if draw(st.booleans()):
        return stream.tumble(name, values, every=draw(st.sampled_from([1, 5, 10])))
    return stream.tumble(name, values, size=draw(st.integers(1, 4)))


def _slide(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = _values(draw, stream, draw(st.booleans()))
    if draw(st.booleans()):
        return stream.slide(
            name, values, over=draw(st.sampled_from([1, 3, 12])), every=draw(st.sampled_from([1, 4, 5]))
        )
    return stream.slide(name, values, size=draw(st.integers(1, 4)), advance=draw(st.integers(1, 5)))


def _latch(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = _values(draw, stream, holistic=False, start=False)
    if draw(st.booleans()):
        return stream.latch(name, values, every=draw(st.sampled_from([1, 5, 10])))
    return stream.latch(name, values, size=draw(st.integers(1, 3)))


def _resample(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    fixed = (*stream.type.keyed_by, stream.type.time)
    columns = {
        f.name: draw(st.sampled_from(["linear", "previous"])) if f.type.is_number else "previous"
        for f in stream.schema
        if f.name not in fixed and draw(st.booleans())
    }
    return stream.resample(name, columns, every=draw(st.sampled_from([1, 2, 5])), within=draw(st.sampled_from([1, 8])))


def _join(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    other = draw(st.sampled_from(_grouped_like(stream, others)))
    on = draw(st.sampled_from([None, f"left.{stream.type.time} <= right.{other.type.time}", "left.x <> right.x"]))
    return stream.join(name, other, within=draw(st.sampled_from([0, 1, 6])), on=on, time=f"{name}_time")


def _wait_for(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    until = draw(st.sampled_from(_grouped_like(stream, others)))
    mine, theirs = stream.type.time, until.type.time
    test = draw(st.sampled_from([f"until.{theirs} > {mine} + 1", "until.x > x", "until.s = s", "until.b"]))
    return stream.wait_for(name, test, until, time=f"{name}_time")


def _relation(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    if not {"s", "x", "f"} <= set(stream.schema.names):
        raise NetworkError("nothing to write into a relation")
    key = stream.type.keyed_by
    columns = {k: stream.schema[k].value for k in key}
    columns |= {"total": "int64", "times": "int64", "latest": stream.schema["s"].value, "most": "float64"}
    relation = net.relation(f"{name}_relation", columns, key)
    stream.update_relation(
        f"{name}_update",
        relation,
        total="sum(x)",
        times="count(*)",
        latest="s",
        most="max(f)",
        delete=draw(st.sampled_from([None, "n = 1", "b"])),
    )
    reader = draw(st.sampled_from(_grouped_like(stream, others)))
    return reader.read_relation(name, relation, prefix=f"{name}_")


def _static_relation(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    rows = draw(st.dictionaries(st.sampled_from([1, 2, None]), st.integers(0, 5), max_size=3))
    relation = net.relation(f"{name}_relation", {"k": "int64", "v": "int64"}, "k", [(k, v) for k, v in rows.items()])
    return stream.read_relation(name, relation, prefix=f"{name}_")


def _point(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.connection_point(name, retention="1 hour")


def _latest(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    by = draw(st.sampled_from([("k",), ("j",), ("k", "j"), ("f",), stream.type.keyed_by or ("b",)]))
    return stream.latest(name, *by, timeout=draw(st.sampled_from([None, 1, 7])))


def _distinct(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    names = [n for n in stream.schema.names if n not in (stream.type.time, "sign")]
    by = draw(st.one_of(st.none(), st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)))
    return stream.distinct(name, by)


def _aggregate(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = _values(draw, stream, holistic=True, start=False)
    return stream.aggregate(name, {n: text for n, text in values.items() if "sign" not in text})


def _match(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    other = draw(st.sampled_from(_grouped_like(stream, others)))
    on = draw(
        st.sampled_from(["left.k = right.k", "left.x = right.x and left.f <> right.f", "left.n + 1 = right.n", None])
    )
    return stream.match(name, other, on=on)


def _like(stream: StreamHandle, others: list[StreamHandle]) -> list[StreamHandle]:
    return [other for other in others if other.type == stream.type]


def _grouped_like(stream: StreamHandle, others: list[StreamHandle]) -> list[StreamHandle]:
    return [other for other in others if other.type.keyed_by == stream.type.keyed_by]


BOXES: list[Add] = [
    _filter, _map, _retimed, _drop, _union, _group, _group, _group, _tumble, _tumble, _slide, _slide, _latch, _resample,
    _join, _wait_for, _relation, _static_relation, _point, _latest, _latest, _distinct, _aggregate, _aggregate, _match,
]  # fmt: skip
