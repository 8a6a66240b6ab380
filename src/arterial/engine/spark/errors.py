"""Errors on their way from a task to the user: what Spark, Py4J and Python workers wrap around a message is removed."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arterial.engine.spark.logs.damage import found_by_spark
from arterial.errors import ArterialError, RunError
from arterial.storage.place import put_in_place

ERROR_FILE = "error.txt"

_ERROR = re.compile(r"arterial-error<([A-Za-z0-9+/=]+)>")
_KNOWN = (
    (
        "No space left on device",
        "the disk is full. Nothing is lost: make room and start again with the same checkpoint",
    ),
    ("Disk quota exceeded", "the disk quota is used up. Nothing is lost: make room and start again"),
    (
        "Python worker exited unexpectedly",
        "a Python worker died (killed from outside, or out of memory) more often than Spark allows. Nothing is lost: "
        "start again with the same checkpoint; give fewer shards or smaller trains if memory was short",
    ),
    ("Permission denied", "no permission to write to the checkpoint or to an output"),
    ("OutOfMemoryError", "Spark ran out of memory; give it more (SPARK_DRIVER_MEMORY=4g), or run with smaller trains"),
)

# What Spark says when it asks for the next step, and nobody answers.
_PLANNER_GONE = re.compile(r"terminated with exception: (?:Broken pipe|Connection reset)? ?SQLSTATE")
_PLANNER = (
    "the Python process that plans the steps died (killed from outside, or out of memory). Nothing is lost: start "
    "again with the same checkpoint"
)


@contextmanager
def errors_for_the_driver() -> Iterator[None]:
    """In a task: turn an error that the user can fix into one whose message survives the way through Spark."""
    try:
        yield
    except ArterialError as mistake:
        message = base64.b64encode(str(mistake).encode()).decode()
        raise RuntimeError(f"arterial-error<{message}>") from None


def as_run_error(trouble: BaseException, folder: Path) -> ArterialError:
    """On the driver: the error to show for what ended a run; all that Spark said goes to a file in the checkpoint."""
    if isinstance(trouble, ArterialError):
        return trouble
    text = f"{type(trouble).__name__}: {trouble}"
    if found := _ERROR.search(text):
        return RunError(base64.b64decode(found.group(1)).decode())
    kept = ""
    try:
        put_in_place(folder / ERROR_FILE, text)
        kept = f" (all that Spark said: {folder / ERROR_FILE})"
    except OSError:
        pass
    for sign, meaning in _KNOWN:
        if sign in text:
            return RunError(f"the run stopped: {meaning}{kept}")
    if _PLANNER_GONE.search(text):
        return RunError(f"the run stopped: {_PLANNER}{kept}")
    if (damage := found_by_spark(text)) is not None:
        return RunError(f"{damage}{kept}")
    return RunError(f"the run stopped: {_main_line(text)}{kept}")


def _main_line(text: str) -> str:
    """The line that says most: the last one of a Python traceback, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith(("at ", "File ", "Traceback")) and "Error: " in line]
    return (errors or lines or ["unknown"])[-1 if errors else 0]
