"""Parquet and Arrow files: their columns, and some rows of some columns, here or in a store.

Begin with `reading`, which the other files of this room serve and others import. `far` reads files in a store; `damage`
looks at the headers of Parquet's pages before Polars believes them, and `texts` says how much memory texts may take.
"""
