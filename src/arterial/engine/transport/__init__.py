"""How trains travel between slots: parcels through channels, packed as bytes, in rows or in shared memory.

Others import `parcels` (send and receive), `packing` (trains as bytes) and `rows` (bytes as rows of Spark). Begin with
`parcels`.
"""
