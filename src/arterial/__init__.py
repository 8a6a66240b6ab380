"""Continuous queries over roads and other moving things, on Spark.

    import arterial as art

    net = art.Network("speeding")
    reports = net.source("reports", {"time": int, "vehicle": int, "speed": int})
    reports.filter("fast", "speed > 100").output("alerts")

    art.collect(net, reports=frame)["alerts"]  # in this process, without Spark
    art.run(net, reports="reports.parquet", alerts="alerts.parquet").wait()  # on Spark

All that a user needs is here, and in `arterial.testing`, `arterial.moving` and `arterial.sql`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arterial.version import __version__

if TYPE_CHECKING:
    from arterial import moving, sql, testing
    from arterial.causes.explanation import Explanation
    from arterial.causes.why import why
    from arterial.connectors.files.source import FileSource
    from arterial.connectors.live.source import LiveSource
    from arterial.connectors.memory_source import ArrivingSource, MemorySource
    from arterial.connectors.sink import Delivery, Sink
    from arterial.connectors.sinks.databases.postgres import PostgresSink
    from arterial.connectors.sinks.databases.sqlite import SqliteSink
    from arterial.connectors.sinks.databases.table import TableSink
    from arterial.connectors.sinks.files.growing import GrowingSink
    from arterial.connectors.sinks.files.parts import FileSink
    from arterial.connectors.sinks.memory import MemorySink
    from arterial.connectors.sinks.print import PrintSink
    from arterial.connectors.sinks.webhook import WebhookSink
    from arterial.connectors.source import Ask, Part, Progress, Source, Span
    from arterial.connectors.tables.database import PostgresTable, SqliteTable
    from arterial.connectors.tables.file import FileTable
    from arterial.connectors.tables.source import TableSource
    from arterial.drawing import Network, RelationHandle, StreamHandle
    from arterial.engine.run.life import Run
    from arterial.engine.run.settings import Settings
    from arterial.engine.run.watch.watchers import Watch
    from arterial.engine.spark.cluster import Cluster
    from arterial.engine.spark.frames.frame_sink import FrameSink
    from arterial.engine.spark.frames.frame_source import FrameSource
    from arterial.errors import ArterialError, DataError, MachineError, NetworkError, RunError
    from arterial.face.collect import Outputs, collect
    from arterial.face.run import run
    from arterial.network.box import Box, Stream
    from arterial.network.expression.function import Function, function
    from arterial.network.network import NetworkValue
    from arterial.network.qos import Delay, QoS
    from arterial.network.schema import Schema, Type
    from arterial.network.state import State
    from arterial.network.train import BEGIN, END, Train
    from arterial.sql.attach import attach
else:
    # Where each name is defined. It is imported when it is first used, so that the commands start quickly.
    _PLACES = {
        "arterial.causes.explanation": ("Explanation",),
        "arterial.causes.why": ("why",),
        "arterial.connectors.sinks.files.parts": ("FileSink",),
        "arterial.connectors.files.source": ("FileSource",),
        "arterial.connectors.live.source": ("LiveSource",),
        "arterial.connectors.sinks.memory": ("MemorySink",),
        "arterial.connectors.memory_source": ("ArrivingSource", "MemorySource"),
        "arterial.connectors.sink": ("Delivery", "Sink"),
        "arterial.connectors.sinks.files.growing": ("GrowingSink",),
        "arterial.connectors.sinks.databases.postgres": ("PostgresSink",),
        "arterial.connectors.sinks.print": ("PrintSink",),
        "arterial.connectors.sinks.databases.sqlite": ("SqliteSink",),
        "arterial.connectors.sinks.webhook": ("WebhookSink",),
        "arterial.connectors.source": ("Ask", "Part", "Progress", "Source", "Span"),
        "arterial.connectors.sinks.databases.table": ("TableSink",),
        "arterial.connectors.tables.database": ("PostgresTable", "SqliteTable"),
        "arterial.connectors.tables.file": ("FileTable",),
        "arterial.connectors.tables.source": ("TableSource",),
        "arterial.drawing": ("Network", "RelationHandle", "StreamHandle"),
        "arterial.engine.run.life": ("Run",),
        "arterial.engine.run.settings": ("Settings",),
        "arterial.engine.run.watch.watchers": ("Watch",),
        "arterial.engine.spark.cluster": ("Cluster",),
        "arterial.engine.spark.frames.frame_sink": ("FrameSink",),
        "arterial.engine.spark.frames.frame_source": ("FrameSource",),
        "arterial.errors": ("ArterialError", "DataError", "MachineError", "NetworkError", "RunError"),
        "arterial.face.collect": ("Outputs", "collect"),
        "arterial.face.run": ("run",),
        "arterial.network.box": ("Box", "Stream"),
        "arterial.network.expression.function": ("Function", "function"),
        "arterial.network.network": ("NetworkValue",),
        "arterial.network.qos": ("Delay", "QoS"),
        "arterial.network.schema": ("Schema", "Type"),
        "arterial.network.state": ("State",),
        "arterial.network.train": ("BEGIN", "END", "Train"),
        "arterial.sql.attach": ("attach",),
    }
    _MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

    def __getattr__(name):
        import importlib

        if name in _MODULE_OF:
            value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        elif name in ("moving", "sql", "testing"):
            value = importlib.import_module(f"arterial.{name}")
        else:
            from arterial.errors import near

            raise AttributeError(f"module 'arterial' has no attribute {name!r}{near(name, __all__)}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "BEGIN", "END", "ArrivingSource", "ArterialError", "Ask", "Box", "Cluster", "DataError", "Delay", "Delivery",
    "Explanation", "FileSink", "FileSource", "FileTable", "FrameSink", "FrameSource", "Function", "GrowingSink",
    "LiveSource", "MachineError", "MemorySink", "MemorySource", "Network", "NetworkError", "NetworkValue", "Outputs",
    "Part", "PostgresSink", "PostgresTable", "PrintSink", "Progress", "QoS", "RelationHandle", "Run", "RunError",
    "Schema", "Settings", "Sink", "Source", "Span", "SqliteSink", "SqliteTable", "State", "Stream", "StreamHandle",
    "TableSink", "TableSource", "Train", "Type", "Watch", "WebhookSink", "__version__", "attach", "collect", "function",
    "moving", "run", "sql", "testing", "why",
]  # fmt: skip
