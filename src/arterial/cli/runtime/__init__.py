"""The commands about a run of another process: look on, ask, steer, replace (Aurora's run time), one a file."""
