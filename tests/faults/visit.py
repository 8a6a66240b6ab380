"""Visiting crash points: a calm run gives them, and each is gone on from to the end and compared with the calm run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from arterial.engine.run.checkpoint.lock import LOCK_FILE
from arterial.errors import ArterialError
from arterial.storage.disk import using
from tests.faults.host import ONE, Case, Host, Result
from tests.faults.recording import KILLED, Point, Recording, lay_out

ANOTHER_START = "1 0 another-start-of-the-machine"
"""What the lock file says of a run that a restart of the machine cut off."""


@dataclass
class Visits:
    """What came of some visits."""

    visited: int = 0
    same: int = 0
    """How many left the same disk as one before, and were not visited again."""
    noticed: int = 0
    """How many ended in an error that names what is wrong, or in a notice, where that is allowed."""


def calm(
    case: Case, folder: Path, *, attempts: str = ONE, durable: bool = False, seed: int = 0, keep: bool = True
) -> tuple[Result, list[Point]]:
    """A run that nobody disturbs, and its crash points."""
    folder.mkdir(exist_ok=True)
    recording = Recording(folder, keep=keep)
    with using(recording):
        result = Host(case, folder, attempts=attempts, durable=durable, seed=seed).run()
    return result, recording.points


def visit(
    case: Case,
    expected: Result,
    points: Iterable[Point],
    folder: Path,
    *,
    mode: str = KILLED,
    durable: bool = False,
    may_be_noticed: bool = False,
    seed: int = 0,
) -> Visits:
    """Go on from each point; raises if what comes of it is not as in the calm run."""
    visits = Visits()
    seen: set[int] = set()
    for point in points:
        remains = point.remains(mode, seed)
        if (key := _key(remains)) in seen:
            visits.same += 1
            continue
        seen.add(key)
        visits.visited += 1
        lay_out(remains, folder)
        own = folder / "checkpoint" / "arterial"
        if mode != KILLED and own.is_dir():
            # It is synced whether the run is durable or not.
            (own / LOCK_FILE).write_text(f"{ANOTHER_START} {'durable' if durable else ''}\n")
        host = Host(case, folder, durable=durable)
        where = f"{mode} after operation {point.number} ({point.what})"
        try:
            wrong = host.run().difference(expected, case)
        except (ArterialError, OSError) as error:
            if not may_be_noticed or not isinstance(error, ArterialError):
                raise AssertionError(f"{where}: {error}") from error
            visits.noticed += 1
            wrong = ""
        if wrong and may_be_noticed and host.notice:
            visits.noticed += 1
            wrong = ""
        assert not wrong, f"{where}: {wrong}"
        shutil.rmtree(folder)
    return visits


def _key(remains: dict[str, bytes | None]) -> int:
    """The same for disks that differ only in the names and content of drafts."""
    return hash(
        tuple((_DRAFT.sub("draft", name), None if name.endswith(".draft") else data) for name, data in remains.items())
    )


_DRAFT = re.compile(r"[0-9a-f]{16}\.draft")
