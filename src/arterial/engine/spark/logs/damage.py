"""Damaged checkpoints: files of Spark's own that are missing, short or changed, said with the file and what to do.

The logs are looked at before Spark starts, because Spark's errors do not always name the file; what it finds in its
state files is read from its error.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from arterial.errors import RunError
from arterial.storage.place import remove

_WHAT_TO_DO = (
    "Something other than this run has changed the checkpoint: restore the whole folder from a copy, or begin from the "
    "start (--force, or a new folder as checkpoint)."
)
_LOGS = ("offsets", "commits")
_NEEDED = 2
"""Spark reads so many of the last files of a log."""

_CHANGED = re.compile(r"Checksum error: (?:file:)?(/\S+)")
_MISSING = re.compile(r"(?:FileNotFoundException|NoSuchFileException): (?:File )?(?:file:)?(/\S+)")
_STATE_FILE = re.compile(r"(?:file:)?(/\S+/state/\d+[^\s,;'\"]*)")
_STATE_SIGNS = ("CANNOT_LOAD_STATE_STORE", "STATE_STORE", "STDS_FAILED_TO_READ", "_metadata", "changelog")


def check_logs(spark: Path) -> None:
    """Raise if the logs in Spark's part of a checkpoint cannot be gone on from. The checkpoint is locked."""
    numbers = {log: numbers_in(spark / log) for log in _LOGS}
    if not any(numbers.values()):
        _clear_drafts(spark / "offsets")
        return
    check_log(spark / "metadata", lines=False)
    for log, found in numbers.items():
        if found and found[-1] - found[0] + 1 != len(found):
            gap = next(n for n in range(found[0], found[-1]) if n not in found)
            raise _damaged(spark / log / str(gap), "is missing")
        for number in found[-_NEEDED:]:
            check_log(spark / log / str(number), lines=True)
    planned, done = (numbers[log][-1] if numbers[log] else -1 for log in _LOGS)
    if planned < done:
        raise _damaged(spark / "offsets" / str(done), "is missing")
    if planned > done + 1:
        raise _damaged(spark / "commits" / str(planned - 1), "is missing")


def _clear_drafts(log: Path) -> None:
    """Remove what a run left that was killed while it logged its first step: Spark takes it for another query's."""
    for draft in log.glob(".*.tmp*"):
        remove(draft)


def found_by_spark(text: str) -> RunError | None:
    """The damage that an error of Spark is about, if it is."""
    if changed := _CHANGED.search(text):
        return _damaged(_path(changed), "has other content than was saved")
    if missing := _MISSING.search(text):
        path = _path(missing)
        return _damaged(path, "is missing") if "/spark/" in str(path) else None
    if any(sign in text for sign in _STATE_SIGNS) and (state := _STATE_FILE.search(text)):
        return _damaged(_path(state), "cannot be read")
    return None


def _damaged(path: Path, what: str) -> RunError:
    return RunError(f"the checkpoint is damaged: {path} {what}. {_WHAT_TO_DO}")


def _path(found: re.Match[str]) -> Path:
    return Path(found.group(1).rstrip(".,:;)"))


def numbers_in(log: Path) -> list[int]:
    """The numbers of a log's files, in order."""
    return sorted(int(path.name) for path in log.iterdir() if path.name.isdigit()) if log.is_dir() else []


def check_log(path: Path, *, lines: bool) -> None:
    """Raise if a file of Spark's logs is missing or not what Spark writes."""
    try:
        text = path.read_text()
        if not lines:
            json.loads(text)["id"]
            return
        version, *rest = text.splitlines()
        if not re.fullmatch(r"v\d+", version) or not rest:
            raise ValueError
        for line in rest:
            if line != "-":  # a source that has not begun
                json.loads(line)
    except FileNotFoundError:
        raise _damaged(path, "is missing") from None
    except (ValueError, KeyError, TypeError):
        raise _damaged(path, "has other content than was saved") from None
