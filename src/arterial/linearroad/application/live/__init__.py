"""Live input: lines from a connection or a pipe, spooled by whole seconds so that a step can be read again.

Others import `input` and `feed`. Begin with `spooler`.
"""
