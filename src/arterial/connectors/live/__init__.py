"""Live input: lines that come by themselves, from standard input, a TCP connection or several.

What arrives is spooled to disk before a step may read it (decision 25), so that a step can be read again. Others import
`source.LiveSource`; Linear Road, which reads its lines in its own way, shares `spool`, `places` and `ending`. Begin
with `source`, then follow a line: `receiver`, `lines`, `spooler`, `spool`.
"""
