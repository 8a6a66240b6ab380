"""The validator: judges any system's output against the input, from the formal tables alone.

Others import `validate` and `Verdict` from here. Begin with `judge`; the room `expected` has what a right system
answers, `causes` why an output differs.
"""

from arterial.linearroad.validate.job import validate
from arterial.linearroad.validate.verdict import Example, Tally, Verdict

__all__ = ["Example", "Tally", "Verdict", "validate"]
