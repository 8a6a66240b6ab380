"""Continuous range and nearest-neighbour queries over moving objects (GPAC), and fences that they enter and leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arterial.moving.boxes.fences import fences
    from arterial.moving.boxes.gpac import gpac_in, gpac_knn
    from arterial.moving.files.fence_file import read_fences
else:
    _PLACES = {
        "fences": "arterial.moving.boxes.fences",
        "gpac_in": "arterial.moving.boxes.gpac",
        "gpac_knn": "arterial.moving.boxes.gpac",
        "read_fences": "arterial.moving.files.fence_file",
    }

    def __getattr__(name):
        # Imported when first used: the kernels alone need neither networks nor polars.
        if name in _PLACES:
            from importlib import import_module

            return getattr(import_module(_PLACES[name]), name)
        raise AttributeError(f"module 'arterial.moving' has no attribute {name!r}")


__all__ = ["fences", "gpac_in", "gpac_knn", "read_fences"]
