"""Continuous queries over roads and other moving things, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arterial.version import __version__

if TYPE_CHECKING:
    from arterial.drawing import Network
    from arterial.network.expression.function import function


__all__ = ["Network", "__version__", "function"]


def __getattr__(name: str) -> Any:
    # Imported when first used: the commands that need neither start without polars and sqlglot.
    if name == "Network":
        from arterial.drawing import Network

        return Network
    if name == "function":
        from arterial.network.expression.function import function

        return function
    raise AttributeError(f"module 'arterial' has no attribute {name!r}")
