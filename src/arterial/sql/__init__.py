"""Text queries to networks: `SELECT … FROM … WHERE … GROUP BY … GPAC-IN (…) GPAC-kNN (…)` (GPAC §5).

Others import `compile_sql`, `Catalog` and `SqlError` from here, and `attach`. Begin with `compile`; the room `text`
reads the query, `draw` makes a network of it.
"""

from arterial.sql.catalog import Catalog, StreamEntry, TableEntry
from arterial.sql.compile import compile_sql
from arterial.sql.text.mistake import SqlError

__all__ = ["Catalog", "SqlError", "StreamEntry", "TableEntry", "compile_sql"]
