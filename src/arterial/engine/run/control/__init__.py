"""What is decided between two steps: how long trains are, what waits, what is left out, settled and kept (Aurora §4).

Others may import all of it. Begin with `controllers`, which makes them from the settings of a run.
"""
