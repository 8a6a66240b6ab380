"""Savepoints: a consistent copy of a checkpoint, of a run at work or of one that stopped.

A run at work links its files aside while none of its tasks runs, which takes milliseconds, and goes on; the links are
then copied at leisure. A store has no links: there the files themselves are copied aside, and the run waits for that.
What is copied is what a crash at that moment would leave, so a start from it is a start after a crash: the step at
hand, if it was not committed, is run again with the same answers (decision 39).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

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
from arterial.storage.place import copy_file, draft_folder, make_folder, put_in_place, remove_folder, rename
from arterial.storage.remote import entries, is_remote, path_of, renames_folders
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

_AT_ONCE = 16
"""So many requests to a store."""

_T = TypeVar("_T")


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
    to = path_of(to).absolute()
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise RunError(f"{to}: is there already; give a new folder for the savepoint")
    if to.is_relative_to(checkpoint.absolute()):
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
    for paths in _files(checkpoint, root):
        for folder in {path.parent for path in paths} - {root}:
            make_folder(target / folder.relative_to(root), 0o700)
        names = [str(path.relative_to(root)) for path in paths]
        found = zip(names, _each(_set_aside, paths, [target / name for name in names]), strict=True)
        sizes |= {name: size for name, size in found if size is not None}
    put_in_place(target / _SIZES, json.dumps(sizes))
    return name


def _set_aside(path: Path, there: Path) -> int | None:
    """Link a file, or copy it; how much of it is of now, since files are replaced whole or grow at their end."""
    with suppress(FileNotFoundError):  # an old version that is removed just now
        if is_remote(path):
            copy_file(path, there)
        else:
            try:
                os.link(path, there)
            except FileNotFoundError:
                raise
            except OSError:  # a disk without links
                shutil.copy2(path, there)
        return there.stat().st_size
    return None


def forget_links(checkpoint: Path) -> None:
    """Remove what a savepoint that was given up has left."""
    remove_folder(checkpoint / FOLDER / LINKED)


def _root(checkpoint: Path) -> Path:
    """The folder with all that the run needs: the checkpoint, or what an application keeps around it."""
    return checkpoint.parent if Path(checkpoint.parent.name, checkpoint.name) == _WORK else checkpoint


def _files(checkpoint: Path, root: Path) -> Iterator[list[Path]]:
    """All files of a run, each once, in groups, in the order in which those must be linked."""
    seen: set[Path] = set()
    for first in _ORDER:
        below = checkpoint / first if first else root
        found = [below] if below.is_file() else list(_walk(below))
        found = [path for path in found if path not in seen and (first or "commits" not in path.parts)]
        seen.update(found)
        yield [path for path in found if path.parent.name != "SSTs"]
        yield [path for path in found if path.parent.name == "SSTs"]


def _walk(folder: Path) -> Iterator[Path]:
    for path, is_folder in entries(folder):
        if path.name in _LEFT_OUT or path.name.endswith((".draft", ".tmp")):
            continue
        if is_folder:
            yield from _walk(path)
        elif path.name != JOURNAL:  # the files that it is about stay where they are
            yield path


def _each(work: Callable[..., _T], paths: Sequence[Path], to: Sequence[Path], *more: Sequence[int]) -> list[_T]:
    """Do work for each file and its copy; for several at once where a store has to answer."""
    if paths and (is_remote(paths[0]) or is_remote(to[0])):
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(work, paths, to, *more))
    return list(map(work, paths, to, *more))


def _copy(linked: Path, checkpoint: Path, to: Path) -> Savepoint:
    """Copy what was linked to its place, as it was then."""
    sizes: dict[str, int] = json.loads((linked / _SIZES).read_text())
    root = _root(checkpoint)
    inside = checkpoint.relative_to(root)
    status = read_status(linked / inside)
    assert status is not None
    make_folder(to.parent)
    with durably(True), _new_folder(to) as draft:
        work = draft / "work" if root != checkpoint else draft
        copied = work / inside
        names = [name for name in sizes if name != str(inside / STATUS_FILE)]
        copies = [work / name for name in names]
        for folder in {path.parent for path in copies}:
            make_folder(folder)
        _each(_copy_file, [linked / name for name in names], copies, [sizes[name] for name in names])
        check_logs(copied / "spark")
        steps = [offset["step"] for offset in last_offsets(copied / "spark")]
        taken = Savepoint(
            status.network,
            str(checkpoint.absolute()),
            max(steps, default=status.step),
            now(),
            __version__,
            sum(sizes.values()),
        )
        put_in_place(draft / SAVEPOINT_FILE, json.dumps(asdict(taken), indent=2) + "\n")
        stopped = replace(status, state=STOPPED, error=None, finished=now())
        put_in_place(copied / STATUS_FILE, json.dumps(asdict(stopped)) + "\n")
    return taken


@contextmanager
def _new_folder(to: Path) -> Iterator[Path]:
    """A folder to fill, which is given its name in the end; on S3 it has that at once, and is a run's with its status,
    which comes last."""
    if not renames_folders(to):
        try:
            yield to
        except BaseException:
            remove_folder(to)
            raise
        return
    with draft_folder(to) as draft:
        if not is_remote(to):
            draft.chmod(0o700)
        yield draft
        if to.exists() and not is_remote(to):
            to.rmdir()
        rename(draft, to)


def _copy_file(path: Path, to: Path, size: int) -> None:
    if is_remote(path) and is_remote(to):
        copy_file(path, to)
        return
    with path.open("rb") as source:
        if is_remote(to):
            put_in_place(to, source.read(size))
            return
        with to.open("xb") as target:
            os.fchmod(target.fileno(), path.stat().st_mode & 0o777)
            left = size
            while left:
                content = source.read(min(left, 1 << 20))
                if not content:
                    raise RunError(f"{path}: became shorter while it was copied; take the savepoint again")
                target.write(content)
                left -= len(content)
    sync(to)
