"""What several commands share: progress, outcome and exit codes, networks by their place, the options of a cluster.

Begin with `outcome`: how a run ends on screen, in `--json` and in the exit code.
"""
