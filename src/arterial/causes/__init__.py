"""Why a row of an output is as it is: the tuples that caused it, box by box, back to the sources.

The input is read again and run in the interpreter with numbered tuples, for the groups and times concerned; a run pays
nothing for it. Others import `why` and `Explanation`. Begin with `why`, then `trace`; what a box says of its causes is
in `arterial.reference.parts.causes`.
"""
