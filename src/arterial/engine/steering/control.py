"""Control of a run: pause, resume, single step and the version of the network (both are in the offset).

A command is a small file in the checkpoint; any process that can write there can control the run. The source's
planner reads it when it plans a step and puts what it did about it into the offset, which Spark logs before the step.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from arterial.errors import RunError
from arterial.storage.place import put_in_place

CONTROL_FILE = "control.json"


@dataclass(frozen=True)
class Control:
    """The command to a run that is in force."""

    paused: bool = False
    steps: int = 0
    """How many single steps were asked for, ever."""
    version: int = 1
    """The version of the network."""
    stop: int = 0
    """How many times it was asked to stop, ever."""


def read_control(folder: Path) -> Control:
    """The command in force; the default if there is none."""
    try:
        return Control(**json.loads((folder / CONTROL_FILE).read_text()))
    except FileNotFoundError:
        return Control()
    except (ValueError, TypeError) as broken:
        raise RunError(f"{folder / CONTROL_FILE}: not a control file ({broken}); delete it to run on") from None


def write_control(folder: Path, control: Control) -> None:
    """Put a command in place, whole or not at all."""
    if not folder.is_dir():
        raise RunError(f"{folder.parent}: no checkpoint of a run is there; expected the folder given as --checkpoint")
    put_in_place(folder / CONTROL_FILE, json.dumps(asdict(control)))


def apply(control: Control, used_steps: int) -> tuple[bool, int]:
    """Whether the next step may run, and how many single steps are then used."""
    if not control.paused:
        return True, control.steps
    if used_steps < control.steps:
        return True, used_steps + 1
    return False, used_steps


def pause(folder: Path) -> Control:
    """Stop between two trains."""
    return _change(folder, paused=True)


def resume(folder: Path) -> Control:
    """Go on."""
    return _change(folder, paused=False)


def step(folder: Path, trains: int = 1) -> Control:
    """Let a paused run go on by so many trains."""
    return _change(folder, paused=True, steps=read_control(folder).steps + trains)


def switch(folder: Path, version: int) -> Control:
    """Let another version of the network run from the next train on."""
    return _change(folder, version=version)


def stop(folder: Path) -> Control:
    """End the run after the train at hand."""
    return _change(folder, stop=read_control(folder).stop + 1)


def _change(folder: Path, **wishes: Any) -> Control:
    control = replace(read_control(folder), **wishes)
    write_control(folder, control)
    return control
