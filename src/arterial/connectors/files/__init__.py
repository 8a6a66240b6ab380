"""Files as a source: CSV, JSON lines, Parquet, Arrow, compressed or not; a file, a folder, a pattern, one that grows.

Begin with `source`. `find` says which files a path stands for and `fingerprint` whether they changed;
`blocks` reads one of them block by block (`json_lines` and `arterial.connectors.csv` know the lines, the room
`columnar` Parquet and Arrow). A `reader` keeps how far a file was read; the `intake`
brings the rows of all readers into the order of their time and puts them into `pieces`, and the `index` says where
instants begin in them. `inspection` looks at a file that nobody described yet.
"""
