"""What a right system answers, computed from the formal tables alone, without the stream's kernels (decision 5).

Begin with `expected`.
"""
