"""Random small networks for the conformance suite: sources, some boxes of every kind, an output at every loose end."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network
from arterial.errors import NetworkError
from arterial.network.schema import Schema
from tests.conformance.kinds import adds
from tests.conformance.tuples import SCHEMA


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
        add = draw(st.sampled_from(adds()))
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
