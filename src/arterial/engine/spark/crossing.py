"""Errors on their way from a task to the driver: their message survives all that Spark wraps around it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager

from arterial.errors import ArterialError

_ERROR = re.compile(r"arterial-error<([A-Za-z0-9+/=]+)>")


@contextmanager
def errors_for_the_driver() -> Iterator[None]:
    """Turn an error that is the user's to mend into one whose message survives the way through Spark."""
    try:
        yield
    except ArterialError as mistake:
        message = base64.b64encode(str(mistake).encode()).decode()
        raise RuntimeError(f"arterial-error<{message}>") from None


def error_from_task(text: str) -> str | None:
    """The message of an error that a task turned, out of all that Spark wrapped around it."""
    found = _ERROR.search(text)
    return base64.b64decode(found.group(1)).decode() if found else None
