"""The interpreter: what every box means, a tuple at a time, in the same rooms as `arterial.boxes`.

Others import `interpret` from here. Begin with `tuples.filter`, then `interpret`.
"""

from arterial.reference.interpret import Meaning, interpret

__all__ = ["Meaning", "interpret"]
