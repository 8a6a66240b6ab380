"""Where tuples come from and where they go: sources and sinks. Nothing here knows Spark or plans.

`source.Source` and `sink.Sink` are the two interfaces; to add a system, subclass one of them in a file of its own.
Begin with `source`, then the room `files` as the largest example; `live` has lines as they arrive, `sinks` all sinks.
`csv`, `times` and `values` read texts as types.
"""

import os

# The zone of a Parquet or Arrow column may be an offset such as +05:30, at which Polars panics. Such times are kept as
# UTC whatever their zone, so its name does not matter here.
os.environ.setdefault("POLARS_IGNORE_TIMEZONE_PARSE_ERROR", "1")
