"""Continuous range and nearest-neighbour queries over moving objects (GPAC)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arterial.moving.boxes.gpac import gpac_in, gpac_knn
else:

    def __getattr__(name):
        # Imported when first used: the kernels alone need neither networks nor polars.
        if name in __all__:
            from arterial.moving.boxes import gpac as pipeline

            return getattr(pipeline, name)
        raise AttributeError(f"module 'arterial.moving' has no attribute {name!r}")


__all__ = ["gpac_in", "gpac_knn"]
