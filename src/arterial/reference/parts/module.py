"""Where the meaning of a box stands: the module here that goes with the box's own."""

from __future__ import annotations

from arterial.network.box import Box, is_from_library


def module_of(kind: type[Box]) -> str:
    """The module of `arterial.reference` for a kind of `arterial.boxes`; nothing for other kinds.

    >>> from arterial.boxes.windows.tumble import Tumble
    >>> module_of(Tumble)
    'arterial.reference.windows.tumble'
    """
    if not is_from_library(kind):
        return ""
    return kind.__module__.replace("arterial.boxes", "arterial.reference", 1)
