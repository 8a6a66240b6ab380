"""What every tactic is: a pure function from a network, and what was measured of its boxes, to a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arterial.network.network import NetworkValue

Selectivities = Mapping[str, float | None]
"""Tuples out for each tuple in, by the name of the box; None where it is not known."""

Tactic = Callable[[NetworkValue, Selectivities], NetworkValue]
"""Changes the network, not what its outputs stand for at any instant. Arcs that are inseparable stay as they are."""
