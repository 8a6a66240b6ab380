"""The boxes of moving queries: thousands of queries in one box, and GPAC-IN and GPAC-kNN as boxes of a plan (§5).

Others import `gpac` and `moving_queries`; a file `…_meaning` says what its box means, a tuple at a time.
Begin with `gpac`.
"""
