"""Files as a source: CSV, JSON lines, Parquet, Arrow, compressed or not; a file, a folder, a pattern, one that grows.

Begin with `source.FileSource`. `find` says which files a path stands for, `blocks` reads one of them block by block
(`json_lines` and `arterial.connectors.csv` know the lines, `columnar` Parquet and Arrow), `intake` puts the rows in the
order of their time once and keeps them for the run, `index` says where instants begin. `inspection` looks at a file
that nobody described yet.
"""
