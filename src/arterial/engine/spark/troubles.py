"""Errors of a run, unwrapped: from what Spark, Py4J and Python workers say to what a user can do about it."""

from __future__ import annotations

from pathlib import Path

from arterial.engine.spark.crossing import error_from_task
from arterial.errors import ArterialError, RunError

ERROR_FILE = "error.txt"

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


def as_run_error(trouble: BaseException, folder: Path) -> ArterialError:
    """The error to show for whatever ended a run; what Spark said in full goes to a file in the checkpoint."""
    if isinstance(trouble, ArterialError):
        return trouble
    text = f"{type(trouble).__name__}: {trouble}"
    message = error_from_task(text)
    if message is not None:
        return RunError(message)
    kept = ""
    try:
        (folder / ERROR_FILE).write_text(text)
        kept = f" (all that Spark said: {folder / ERROR_FILE})"
    except OSError:
        pass
    for sign, meaning in _KNOWN:
        if sign in text:
            return RunError(f"the run stopped: {meaning}{kept}")
    return RunError(f"the run stopped: {_telling_line(text)}{kept}")


def _telling_line(text: str) -> str:
    """The line that says most: the last one of a Python traceback, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith(("at ", "File ", "Traceback")) and "Error: " in line]
    return (errors or lines or ["unknown"])[-1 if errors else 0]
