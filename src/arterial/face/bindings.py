"""What a user gives for the sources and outputs of a network, as the sources and sinks of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.connectors.sink import Sink
from arterial.connectors.sinks.memory import MemorySink
from arterial.connectors.source import Source
from arterial.connectors.uri import sink_from, source_from
from arterial.drawing import Network
from arterial.engine.run.binding import first_port
from arterial.errors import RunError, near
from arterial.network.network import NetworkValue

if TYPE_CHECKING:
    from arterial.engine.spark.frames.frame_source import FrameSource


def value_of(network: Network | NetworkValue) -> NetworkValue:
    """The network that was drawn."""
    if isinstance(network, Network):
        return network.value
    if isinstance(network, NetworkValue):
        return network
    raise RunError(f"expected a Network, got a {type(network).__name__}")


def point_names(network: NetworkValue) -> list[str]:
    """The names of its connection points."""
    return [box.name for box in network.boxes if box.keeping is not None]


def check_names(network: NetworkValue, given: Iterable[str], *, outputs: bool) -> None:
    """Raise if a name is no source (nor, with `outputs`, an output or connection point), or a source has no value."""
    given, sources = list(given), network.source_names
    known = [*sources, *network.output_names, *point_names(network)] if outputs else sources
    for name in given:
        if name not in known:
            also = f", the outputs: {', '.join(network.output_names) or 'none'}" if outputs else ""
            raise RunError(
                f"network {network.name!r} has no source{' or output' if outputs else ''} {name!r}; it has "
                f"the sources: {', '.join(sources) or 'none'}{also}{near(name, known)}"
            )
    for name in sources:
        if name not in given:
            raise RunError(
                f"network {network.name!r}: the source {name!r} has no value; give {name}=… (a path or a frame)"
            )


def sources_from(network: NetworkValue, given: Mapping[str, Any]) -> dict[str, Source | FrameSource]:
    """The sources of a run, out of the values given for all names."""
    return {name: _source(given[name], name, network) for name in network.source_names}


def sinks_from(network: NetworkValue, given: Mapping[str, Any], checkpoint: Path) -> dict[str, Sink]:
    """The sinks of a run: what is not named is kept in memory, what is None is counted and let go."""
    sinks: dict[str, Sink] = {}
    for name in network.output_names:
        if name not in given:
            sinks[name] = MemorySink()
    for name in (*network.output_names, *point_names(network)):
        if given.get(name) is not None:
            sinks[name] = _sink(given[name], name, checkpoint / "parts" / name)
    return sinks


def _source(value: Any, name: str, network: NetworkValue) -> Source | FrameSource:
    if _is_sparks(value):
        from arterial.engine.spark.frames.frame_source import FrameSource

        if isinstance(value, FrameSource):
            return value
        if value.isStreaming:
            return FrameSource(value)
        value = value.toArrow()
    return source_from(value, name, network.streams[first_port(network, name)])


def _sink(value: Any, name: str, parts: Path) -> Sink:
    if isinstance(value, type):
        raise RunError(
            f"output {name!r}: got the class {value.__name__}; expected an object, as in {value.__name__}(…)"
        )
    if callable(value) and not isinstance(value, Sink):
        from arterial.engine.spark.frames.frame_sink import FrameSink

        return FrameSink(value)
    return sink_from(value, name, parts)


def _is_sparks(value: object) -> bool:
    """Whether it is a DataFrame of Spark, or a source of one; without importing Spark."""
    return type(value).__module__.startswith("pyspark.") or type(value).__name__ == "FrameSource"
