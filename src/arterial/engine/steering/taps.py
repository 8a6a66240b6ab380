"""Taps: somebody looks on at an arc of a run, from any process; the run never waits for them.

A tap is a folder in the checkpoint, with what is wanted. Who looks renews it every second; the planner puts those that
are fresh into the steering record and removes the others. Tasks leave the tuples of each step there as small files,
which the reader prints and removes. A step that is run again writes files of the same names, which were read already.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from arterial.figures.steering import Tap
from arterial.storage.place import make_folder, put_in_place, remove, remove_folder
from arterial.storage.remote import is_remote

if TYPE_CHECKING:
    import polars as pl

TAPS = "taps"
LEASE = 5.0
"""So many seconds after it was renewed last, a tap ends."""

_TAP = "tap.json"


def open_tap(folder: Path, tap: Tap) -> Path:
    """Ask for the tuples of an arc, in the folder of a run; the tap's own folder."""
    own = folder / TAPS / uuid.uuid4().hex[:12]
    make_folder(own)
    put_in_place(own / _TAP, json.dumps(asdict(tap)))
    return own


def renew_tap(own: Path) -> None:
    """Say that somebody still looks; a tap that has ended meanwhile stays so."""
    with suppress(FileNotFoundError):
        if is_remote(own):
            put_in_place(own / _TAP, (own / _TAP).read_bytes())
        else:
            os.utime(own / _TAP)


def close_tap(own: Path) -> None:
    """End a tap."""
    remove(own / _TAP)
    remove_folder(own)


def fresh_taps(folder: Path, now: float | None = None) -> dict[str, Tap]:
    """The taps that somebody looks at; the others are removed."""
    try:
        names = sorted(path.name for path in (folder / TAPS).iterdir())
    except FileNotFoundError:
        return {}
    now = time.time() if now is None else now
    taps = {}
    for name in names:
        file = folder / TAPS / name / _TAP
        try:
            fresh = now - file.stat().st_mtime <= LEASE
            if fresh:
                taps[name] = Tap(**json.loads(file.read_text()))
        except FileNotFoundError:
            fresh = now - _made(file.parent, now) <= LEASE
        except (ValueError, TypeError):
            fresh = False
        if not fresh:
            close_tap(file.parent)
    return taps


def write_tapped(folder: Path, step: int, level: int, slot: int, tapped: Mapping[str, Sequence[pl.DataFrame]]) -> None:
    """Leave the tuples that passed tapped arcs in a step; a tap that has ended meanwhile gets none."""
    import polars as pl

    for name, frames in tapped.items():
        own = folder / TAPS / name
        if frames and own.is_dir():
            with suppress(FileNotFoundError):
                put_in_place(own / f"part-{step:09d}-{level + 1:03d}-{slot:03d}.arrow", pl.concat(frames).write_ipc)


def take_tapped(own: Path, seen: set[str]) -> list[pl.DataFrame]:
    """What came since the last look, in the order of steps; `seen` has the names of the files that were read."""
    import polars as pl

    frames = []
    for path in sorted(own.glob("part-*.arrow")):
        if path.name not in seen:
            seen.add(path.name)
            frames.append(pl.read_ipc(path.read_bytes()))
        remove(path)
    return frames


def _made(path: Path, now: float) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return now
