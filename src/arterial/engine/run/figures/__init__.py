"""What a run says of itself: the reports of tasks become figures of a step, of a window, and the status.

Others may import all of it. Begin with `run_figures`, which is asked after every step; `status` is what others read.
"""
