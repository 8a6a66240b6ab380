"""Where the meaning of a box stands: the module here that goes with the box's own."""

from __future__ import annotations

from arterial.network.box import Box


def module_of(kind: type[Box]) -> str:
    """The module of `arterial.reference` for a kind of `arterial.boxes`; nothing for other kinds.

    >>> from arterial.boxes.windows.tumble import Tumble
    >>> module_of(Tumble)
    'arterial.reference.windows.tumble'
    """
    own = kind.__module__.startswith("arterial.boxes.") and kind.__module__.endswith(f".{kind.kind}")
    return kind.__module__.replace("arterial.boxes", "arterial.reference", 1) if own else ""
