"""Linear Road: the tolling application of a whole city, and the benchmark kit around it.

Each room is one part of the kit, and its docstring says what others may import. Begin with `semantics` (what is asked),
then `application` (how the stream answers it) and `validate` (how answers are judged).
"""
