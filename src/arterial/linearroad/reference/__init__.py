"""The Linear Road interpreter: a tuple at a time, in plain Python. It defines what the other implementations mean.

The rules that it cites by number are those of docs/linear-road/semantics.md. Others import `interpreter` and `events`.
Begin with `interpreter`.
"""

from arterial.linearroad.reference.events import Event
from arterial.linearroad.reference.history import SegmentRow, TollRow
from arterial.linearroad.reference.interpreter import Expected, answer

__all__ = ["Event", "Expected", "SegmentRow", "TollRow", "answer"]
