"""The commands about a run of another process: look on, ask, steer, replace (Aurora's run time), one a file.

Begin with `status`; `run_figures` finds a run's figures for all of them.
"""
