"""What steers a run: commands and decisions in small files, and the offset of each step, which Spark logs first.

`control` has what a user asks for, `decisions` what controllers decide, `taps` who looks on, `arcs` what may be done to
which arc. The planner makes one steering record of them (`arterial.figures.steering`) and puts it into the offset.
Others import the functions of `control`, `arcs` and `taps`, and `decisions.Controller`. Begin with `offsets`.
"""
