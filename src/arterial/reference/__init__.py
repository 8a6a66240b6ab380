"""The interpreter: what every box means, a tuple at a time."""

from arterial.reference.interpret import Meaning, interpret

__all__ = ["Meaning", "interpret"]
