"""Sinks: where what reaches an output goes."""

from arterial.engine.sinks.sink import Delivery, Sink

__all__ = ["Delivery", "Sink"]
