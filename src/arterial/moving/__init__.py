"""Continuous range and nearest-neighbour queries over moving objects (GPAC), and fences that they enter and leave.

`gpac_in`, `gpac_knn` and `fences` are boxes of a network. The rest runs queries without one: `SharedExecution` many
queries over one grid, `Interpreter` queries of your own on the skeleton of GPAC, `Traffic` made-up objects to try them
on. Users import all of these from here. Begin with the room `queries`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arterial.moving.boxes.fences import fences
    from arterial.moving.boxes.gpac import gpac_in, gpac_knn
    from arterial.moving.files.fence_file import read_fences
    from arterial.moving.queries.events import MovingNearest, Report
    from arterial.moving.queries.group_nearest import GpacGroup
    from arterial.moving.queries.interpreter import Interpreter, net
    from arterial.moving.shared.shared import SharedExecution
    from arterial.moving.traffic import Traffic, TrafficSettings
else:
    # Where each name is defined. Imported when first used: the kernels alone need neither networks nor polars.
    _PLACES = {
        "GpacGroup": "arterial.moving.queries.group_nearest",
        "Interpreter": "arterial.moving.queries.interpreter",
        "MovingNearest": "arterial.moving.queries.events",
        "Report": "arterial.moving.queries.events",
        "SharedExecution": "arterial.moving.shared.shared",
        "Traffic": "arterial.moving.traffic",
        "TrafficSettings": "arterial.moving.traffic",
        "fences": "arterial.moving.boxes.fences",
        "gpac_in": "arterial.moving.boxes.gpac",
        "gpac_knn": "arterial.moving.boxes.gpac",
        "net": "arterial.moving.queries.interpreter",
        "read_fences": "arterial.moving.files.fence_file",
    }

    def __getattr__(name):
        if name in _PLACES:
            from importlib import import_module

            return getattr(import_module(_PLACES[name]), name)
        raise AttributeError(f"module 'arterial.moving' has no attribute {name!r}")


__all__ = [
    "GpacGroup",
    "Interpreter",
    "MovingNearest",
    "Report",
    "SharedExecution",
    "Traffic",
    "TrafficSettings",
    "fences",
    "gpac_in",
    "gpac_knn",
    "net",
    "read_fences",
]
