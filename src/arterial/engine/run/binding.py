"""Binds a network's sources, outputs and connection points to what stands behind them in a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arterial.connectors.points.contents import POINTS
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.databases.table import TableSink
from arterial.connectors.source import Source
from arterial.engine.host.failures import POLICIES
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.plan import Plan
from arterial.errors import RunError, near
from arterial.network.duration import units
from arterial.network.network import NetworkValue, Port


def check_bindings(
    network: NetworkValue, sources: Mapping[str, Any], sinks: Mapping[str, Any], policy: str, train_size: int
) -> None:
    """Refuse what does not fit the network, before anything is started."""
    enter, leave = network.source_names, network.delivering
    for what, names, given in (("source", enter, sources), ("output", leave, sinks)):
        if unknown := sorted(set(given) - set(names)):
            raise RunError(
                f"network {network.name!r} has no {what} {', '.join(unknown)}; it has: {', '.join(names)}"
                + near(unknown[0], names)
            )
    if missing := sorted(set(enter) - set(sources)):
        raise RunError(f"network {network.name!r}: nothing stands behind the source {', '.join(missing)}")
    own = [name for name, source in sources.items() if isinstance(source, Source)]
    if own and len(own) < len(sources):
        raise RunError(
            f"network {network.name!r}: the source {', '.join(own)} is arterial's own, others are DataFrames of Spark; "
            "one run takes either kind: read the files through Spark too"
        )
    if policy not in POLICIES:
        raise RunError(f"the policy is {policy!r}; expected one of: {', '.join(POLICIES)}")
    if train_size < 1:
        raise RunError(f"the train size is {train_size}; expected at least 1 tuple")


def bind_sources(network: NetworkValue, sources: Mapping[str, Any], folder: Path) -> dict[str, Source]:
    """The sources of our own, made ready."""
    bound = {}
    for name, source in sources.items():
        if isinstance(source, Source):
            stream = network.streams[first_port(network, name)]
            allowed = getattr(network.box(name), "disorder", 0)
            disorder = units(allowed, stream.schema[stream.time], "disorder", least=0)
            bound[name] = source.allow(disorder, signed=stream.signed).bind(name, stream.schema, stream.time, folder)
    return bound


def notices_of(sources: Mapping[str, Source]) -> tuple[str, ...]:
    """What the user should know about the sources by now."""
    return tuple(text for source in sources.values() for text in source.notices)


def close_sources(sources: Mapping[str, Source], *, ended: bool) -> tuple[str, ...]:
    """Let the sources of a run that is over take no more; what the user should know about them."""
    for source in sources.values():
        source.close(ended=ended)
    return notices_of(sources)


def bind_sink(network: NetworkValue, name: str, sink: Sink | None, folder: Path) -> Sink:
    """The sink of an output or a connection point, made ready; without one a connection point is a table.

    `folder` is the engine's own in the checkpoint.
    """
    stream = network.streams[network.arrival(name)]
    if sink is None:
        keeping = network.box(name).keeping
        assert keeping is not None
        retention = units(keeping.retention, stream.schema[stream.time], "retention")
        sink = TableSink(folder.parent / POINTS / name, retention, keeping.storage_key)
    return sink.bind(name, stream, folder)


def plan_run(network: NetworkValue, shards: int, sources: Mapping[str, Source], unordered: Iterable[str] = ()) -> Plan:
    """The plan for what stands behind the sources: some need to be put in order, some deliver by slot."""
    waits = [*unordered, *(name for name, source in sources.items() if not source.ordered)]
    plan = compile_network(network, shards, in_arrival_order=waits)
    splits = [name for name, key in plan.source_keys.items() if sources[name].splits_by(key)]
    for name in splits:
        sources[name].deliver_by(plan.source_keys[name], shards)
    return compile_network(network, shards, in_arrival_order=waits, split_sources=splits) if splits else plan


def first_port(network: NetworkValue, source: str) -> Port:
    """The port by which the stream of a source leaves."""
    return Port(source, network.box(source).outputs[0])
