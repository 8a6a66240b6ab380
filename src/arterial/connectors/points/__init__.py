"""The tables of connection points: which files count, how they are merged, and how they are read, by any process.

`contents` has the file that names what counts, `files` writes and reads the Parquet files, `keeper` is the one writer
(the sink of a connection point has it), `source.PointSource` reads history, then live. Begin with `contents`.
"""
