"""Text queries to networks: `SELECT … FROM … WHERE … GROUP BY … GPAC-IN (…) GPAC-kNN (…)` (GPAC §5)."""

from arterial.sql.catalog import Catalog, StreamEntry, TableEntry
from arterial.sql.compile import compile_sql
from arterial.sql.text.mistake import SqlError

__all__ = ["Catalog", "SqlError", "StreamEntry", "TableEntry", "compile_sql"]
