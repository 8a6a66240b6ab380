"""Quality of service (Aurora §3, §4): how good is good enough, what a run can bear, and what to do when it cannot.

Pure functions over a network and its figures: utility, load, train lengths; in rooms of their own `holding`, `shedding`
and `prediction`. They decide, the engine does. Nothing here runs a box or writes a file. Begin with `utility`, then
`load`.
"""
