"""What steers a run: commands in a control file, and the offset of each step, which Spark logs before it runs.

Others import the functions of `control`. Begin with `offsets`.
"""
