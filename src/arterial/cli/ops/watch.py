"""The options of all commands that run something, for whoever operates it: metrics, a log, lineage events."""

from __future__ import annotations

from typing import Any

import typer

METRICS: Any = typer.Option(
    None,
    "--metrics",
    help="PORT or HOST:PORT: serve /metrics for Prometheus, /health and /ready there; on loopback if no host is named.",
)
LOG: Any = typer.Option(None, "--log", help="Write a log of the run to this file; - is standard error.")
LOG_FORMAT: Any = typer.Option("text", "--log-format", help="How log lines are written: text or json.")
LOG_LEVEL: Any = typer.Option(
    "info", "--log-level", help="What is logged: warning, info, or debug with a line for every step."
)
LINEAGE: Any = typer.Option(
    None, "--lineage", help="A file or http address for OpenLineage events when the run starts and ends."
)
