"""Standard output: the tuples of each step in the order of time, as JSON lines or CSV."""

from __future__ import annotations

import sys
from io import BytesIO

import polars as pl

from arterial.connectors.sinks.driver import DriverSink
from arterial.connectors.sinks.files.json_lines import write_json_lines
from arterial.errors import RunError

FORMATS = ("jsonl", "csv")


class PrintSink(DriverSink):
    """Prints an output; CSV begins with a header. A step in which the driver was killed may be printed twice."""

    def __init__(self, format: str = "jsonl") -> None:
        super().__init__()
        if format not in FORMATS:
            raise RunError(f"standard output: the format is {format!r}; expected one of {', '.join(FORMATS)}")
        self.format = format

    def put(self, step: int, tuples: pl.DataFrame) -> None:
        """Print the tuples."""
        content = BytesIO()
        if self.format == "csv":
            tuples.write_csv(content, include_header=self.step < 0)
        else:
            write_json_lines(tuples, content)
        try:
            sys.stdout.buffer.write(content.getvalue())
            sys.stdout.buffer.flush()
        except (OSError, ValueError) as fault:
            raise RunError(
                f"output {self.output!r}: standard output cannot be written: {fault}. Start again with the same "
                "checkpoint to go on from this step"
            ) from None
        self.note(step)
