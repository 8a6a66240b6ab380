"""Savepoints: a consistent copy of a checkpoint, of a run at work or of one that stopped.

A run at work links its files aside while none of its tasks runs, which takes milliseconds, and goes on; the links are
then copied at leisure. What is copied is what a crash at that moment would leave, so a start from it is a start after a
crash: the step at hand, if it was not committed, is run again with the same answers (decision 39).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from arterial.connectors.sinks.owner import RUN
from arterial.engine.run.checkpoint.folder import FOLDER, STATUS_FILE
from arterial.engine.run.checkpoint.lock import LOCK_FILE, lock_checkpoint
from arterial.engine.run.figures.status import now, read_status
from arterial.engine.run.states import STOPPED
from arterial.engine.run.versions.requests import REQUESTS, SAVEPOINT, ask
from arterial.engine.spark.logs.damage import check_logs
from arterial.engine.spark.logs.offset_log import last_offsets
from arterial.errors import RunError
from arterial.storage.appended import JOURNAL
from arterial.storage.disk import durably, sync
from arterial.storage.epoch import EPOCH_FILE
from arterial.storage.place import draft_folder, make_folder, put_in_place, remove_folder, rename
from arterial.storage.remote import is_remote
from arterial.version import __version__

SAVEPOINT_FILE = "savepoint.json"
"""In a savepoint: what it is a copy of."""
LINKED = "linked"
"""The folder, in the run's own, where files are linked aside."""
_SIZES = "sizes.json"
_WORK = Path("work/checkpoint")
"""Where the checkpoint of Linear Road is below its output folder; what else is in `work` belongs to the run too."""

# What is this process', and not the run's; the number says whose the outputs are, and a copy has outputs of its own.
_LEFT_OUT = {LOCK_FILE, REQUESTS, LINKED, RUN, EPOCH_FILE, "works"}

# What names other files comes before what it names, and the log of commits last: whatever Spark or the planner removes
# meanwhile is then needed by no step that is to be run again.
_ORDER = ("spark/offsets", "spark/state", "arterial/versions.json", "arterial/sources", "points", "", "spark/commits")


@dataclass(frozen=True)
class Savepoint:
    """What a savepoint is a copy of."""

    network: str
    checkpoint: str
    """The path of the checkpoint."""
    step: int
    """The last step that was planned; a start from the savepoint goes on with it, or with the next one."""
    taken: str
    arterial: str
    bytes: int


def take_savepoint(checkpoint: Path, to: Path, seconds: float = 60.0) -> Savepoint:
    """Copy a checkpoint to a new folder, while its run is at work or not; there is all of it, or nothing.

    `checkpoint` is as `find_checkpoint` gives it; `seconds` is how long to wait for the run.
    """
    if is_remote(checkpoint) or is_remote(to):
        raise RunError(
            f"{checkpoint}: a savepoint needs links, which a store has not; stop the run and copy the folder with the "
            "store's own tools"
        )
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise RunError(f"{to}: is there already; give a new folder for the savepoint")
    if to.absolute().is_relative_to(checkpoint.absolute()):
        raise RunError(f"{to}: is in the checkpoint itself; give a folder elsewhere")
    status = read_status(checkpoint)
    if status is not None and status.is_active:
        answer = ask(checkpoint, SAVEPOINT, seconds=seconds)
        if not answer.accepted:
            raise RunError(f"{checkpoint}: no savepoint: {answer.said}")
        linked = checkpoint / FOLDER / LINKED / answer.said
        try:
            return _copy(linked, checkpoint, to)
        finally:
            remove_folder(linked)
    with lock_checkpoint(checkpoint / FOLDER):
        linked = checkpoint / FOLDER / LINKED / link_aside(checkpoint)
        try:
            return _copy(linked, checkpoint, to)
        finally:
            remove_folder(linked)


def link_aside(checkpoint: Path) -> str:
    """Link all files of a checkpoint aside, while no task of the run is at work; the name of the folder."""
    if not (checkpoint / "spark" / "offsets").is_dir():
        raise RunError(
            f"{checkpoint}: no step was ever planned there on Spark, so there is nothing to save; a local run keeps no "
            "checkpoint"
        )
    forget_links(checkpoint)
    name = os.urandom(8).hex()
    target = checkpoint / FOLDER / LINKED / name
    root = _root(checkpoint)
    make_folder(target)
    sizes: dict[str, int] = {}
    folders = {root}
    for path in _files(checkpoint, root):
        there = target / path.relative_to(root)
        if path.parent not in folders:
            folders.add(path.parent)
            make_folder(there.parent, 0o700)
        with suppress(FileNotFoundError):  # an old version that is removed just now
            try:
                os.link(path, there)
            except FileNotFoundError:
                raise
            except OSError:  # a disk without links
                shutil.copy2(path, there)
            # Files are replaced whole or grow at their end; so this much of each is of now.
            sizes[str(there.relative_to(target))] = there.stat().st_size
    put_in_place(target / _SIZES, json.dumps(sizes))
    return name


def forget_links(checkpoint: Path) -> None:
    """Remove what a savepoint that was given up has left."""
    remove_folder(checkpoint / FOLDER / LINKED)


def _root(checkpoint: Path) -> Path:
    """The folder with all that the run needs: the checkpoint, or what an application keeps around it."""
    return checkpoint.parent if Path(checkpoint.parent.name, checkpoint.name) == _WORK else checkpoint


def _files(checkpoint: Path, root: Path) -> Iterator[Path]:
    """All files of a run, each once, in the order in which they must be linked."""
    seen: set[Path] = set()
    for first in _ORDER:
        below = checkpoint / first if first else root
        found = [below] if below.is_file() else sorted(_walk(below), key=lambda path: path.parent.name == "SSTs")
        for path in found:
            if path not in seen and (first or "commits" not in path.parts):
                seen.add(path)
                yield path


def _walk(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path = Path(entry.path)
            if entry.name in _LEFT_OUT or entry.name.endswith((".draft", ".tmp")):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(path)
            elif entry.name != JOURNAL:  # the files that it is about stay where they are
                yield path


def _copy(linked: Path, checkpoint: Path, to: Path) -> Savepoint:
    """Copy what was linked to its place, as it was then."""
    sizes: dict[str, int] = json.loads((linked / _SIZES).read_text())
    root = _root(checkpoint)
    inside = checkpoint.relative_to(root)
    make_folder(to.absolute().parent)
    with durably(True), draft_folder(to.absolute()) as draft:
        draft.chmod(0o700)
        work = draft / "work" if root != checkpoint else draft
        for name, size in sizes.items():
            _copy_file(linked / name, work / name, size)
        copied = work / inside
        check_logs(copied / "spark")
        status = read_status(copied)
        assert status is not None
        steps = [offset["step"] for offset in last_offsets(copied / "spark")]
        stopped = replace(status, state=STOPPED, error=None, finished=now())
        put_in_place(copied / STATUS_FILE, json.dumps(asdict(stopped)) + "\n")
        taken = Savepoint(
            status.network,
            str(checkpoint.absolute()),
            max(steps, default=status.step),
            now(),
            __version__,
            sum(sizes.values()),
        )
        put_in_place(draft / SAVEPOINT_FILE, json.dumps(asdict(taken), indent=2) + "\n")
        if to.exists():
            to.rmdir()
        rename(draft, to.absolute())
    return taken


def _copy_file(path: Path, to: Path, size: int) -> None:
    make_folder(to.parent)
    with path.open("rb") as source, to.open("xb") as target:
        os.fchmod(target.fileno(), path.stat().st_mode & 0o777)
        left = size
        while left:
            content = source.read(min(left, 1 << 20))
            if not content:
                raise RunError(f"{path}: became shorter while it was copied; take the savepoint again")
            target.write(content)
            left -= len(content)
    sync(to)
