"""The validator: judges any system's output against the input, from the formal tables alone."""

from arterial.linearroad.validate.job import validate
from arterial.linearroad.validate.verdict import Example, Tally, Verdict

__all__ = ["Example", "Tally", "Verdict", "validate"]
