"""Commands for whoever keeps a run going, a command a file, and what they share.

`watch` has the options of all commands that run something, `command_file` the command that a run was started with.
Begin with `resume`.
"""
