"""Data sets of Linear Road: finding, reading, cleaning, converting and replicating events.

Others import `dataset.open_data`, `convert` and `replicate`. Begin with `dataset`.
"""
