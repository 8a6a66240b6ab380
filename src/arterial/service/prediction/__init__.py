"""Prediction (Aurora §4.4): what the costs of a run say of other rates and other machines, before anything runs there.

`analysis` answers `arterial check`: is this machine large enough, and what gives way first. `sizing` answers `arterial
plan`: how large a machine must be, by the `step_costs` of earlier runs. No controller imports from here. Begin with
`analysis`.
"""
