"""Everything that a network gives for some tuples, at once and in this process: for tests and notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.checkpoint.folder import checkpoint_or_temporary
from arterial.engine.run.local import LocalRun
from arterial.engine.run.settings import Settings
from arterial.errors import RunError, near
from arterial.face.bindings import check_names, sources_from, value_of

if TYPE_CHECKING:
    from arterial.drawing import Network
    from arterial.network.network import NetworkValue


class Outputs(dict[str, pl.DataFrame]):
    """What arrived at each output of a network, as Polars frames; they have Arrow's PyCapsule interface."""

    def __missing__(self, name: str) -> pl.DataFrame:
        raise RunError(f"there is no output {name!r}; the outputs are: {', '.join(self) or 'none'}{near(name, self)}")


def collect(network: Network | NetworkValue, sources: Mapping[str, Any] | None = None, /, **more: Any) -> Outputs:
    """What arrives at every output when these are the sources of the network, in the order of time.

    A source is a frame (Polars, pandas, Arrow, anything with Arrow's PyCapsule interface), a list of tuples as dicts, a
    path or URI, or a `Source`; by keyword, or in a mapping where its name is no identifier. It runs in this process,
    without Spark, with the plan that Spark would run.

    >>> import arterial as art
    >>> net = art.Network("speeding")
    >>> reports = net.source("reports", {"time": int, "speed": int})
    >>> _ = reports.filter("fast", "speed > 100").output("alerts")
    >>> art.collect(net, reports=[{"time": 0, "speed": 90}, {"time": 1, "speed": 120}])["alerts"].to_dicts()
    [{'time': 1, 'speed': 120}]
    """
    value = value_of(network)
    given = {**(sources or {}), **more}
    check_names(value, given, outputs=False)
    bound = sources_from(value, given)
    sinks = {name: MemorySink() for name in value.output_names}
    with checkpoint_or_temporary(None) as folder:
        run = LocalRun(value, bound, sinks, folder, Settings(shards=1), temporary=True)
    run.work()
    run.wait()
    for notice in run.notices:
        warnings.warn(notice, stacklevel=2)
    return Outputs(run.outputs)
