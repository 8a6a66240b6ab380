"""What Spark's Python processes need, imported: to be loaded before they are forked.

Nothing here may start a thread that a fork would miss. Polars does when it is imported, and so must not be here, nor
what imports it.
"""

from __future__ import annotations

import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow
import pyarrow.csv
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet  # noqa: F401
import pyspark.sql.pandas.types
import pyspark.sql.streaming.python_streaming_source_runner
import pyspark.sql.streaming.stateful_processor
import pyspark.sql.streaming.transform_with_state_driver_worker
import pyspark.sql.worker.create_data_source
import pyspark.sql.worker.lookup_data_sources
import pyspark.sql.worker.plan_data_source_read
import pyspark.worker  # noqa: F401
import sqlglot
import sqlglot.dialects.duckdb  # noqa: F401

import arterial.engine.spark.start.preloaded_kernels  # noqa: F401
