"""Control of a run: pause, resume, single step, stop, what is shed and held, and the version of the network.

The commands in force are a small file in the checkpoint; any process that can write there can control the run. The
source's planner reads it when it plans a step and puts what it did about it into the offset, which Spark logs before
the step.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from arterial.errors import RunError
from arterial.figures.steering import Drop
from arterial.storage.place import put_in_place, remove
from arterial.storage.remote import is_remote

CONTROL_FILE = "control.json"
REFUSAL_FILE = "takes-no-commands"
"""Says why a run takes no commands; there only if it takes none."""

_REMEMBERED = 100
"""So many versions may be asked for within one step."""

Value = TypeVar("Value", Drop, int)


@dataclass(frozen=True)
class Control:
    """The commands to a run that are in force."""

    paused: bool = False
    steps: int = 0
    """How many single steps were asked for, ever."""
    version: int = 1
    """The version of the network."""
    stop: int = 0
    """How many times it was asked to stop, ever."""
    shed: Mapping[str, Drop] = field(default_factory=dict)
    """What is left out, by arc; before what a controller decides about that arc."""
    hold: Mapping[str, int] = field(default_factory=dict)
    """The arcs that are held, with how many tuples of the queue are let through in each step."""
    history: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By version: the arcs that begin with what a connection point keeps, by its name."""

    def __post_init__(self) -> None:
        if not isinstance(self.paused, bool) or any(
            type(one) is not int for one in (self.steps, self.version, self.stop)
        ):
            raise TypeError("expected true or false for paused, and whole numbers for steps, version and stop")
        if not all(isinstance(one, Mapping) for one in (self.shed, self.hold, self.history)):
            raise TypeError("expected objects for shed, hold and history")


def read_control(folder: Path) -> Control:
    """The commands in force; the default if there are none."""
    try:
        said = json.loads((folder / CONTROL_FILE).read_text())
        return Control(**{**said, "shed": {arc: Drop(**drop) for arc, drop in said.get("shed", {}).items()}})
    except FileNotFoundError:
        return Control()
    except (ValueError, TypeError, AttributeError) as broken:
        raise RunError(f"{folder / CONTROL_FILE}: not a control file ({broken}); delete it to run on") from None


def write_control(folder: Path, control: Control) -> None:
    """Put the commands in place, whole or not at all."""
    if not folder.is_dir():
        raise RunError(f"{folder.parent}: no checkpoint of a run is there; expected the folder given as --checkpoint")
    put_in_place(folder / CONTROL_FILE, json.dumps(asdict(control)))


def forget_control(folder: Path) -> None:
    """For a run that begins from the start."""
    remove(folder / CONTROL_FILE)


def refuse_commands(folder: Path, why: str) -> None:
    """Let every command to this run be refused from now on, and say why; with nothing to say, let them be taken."""
    if why:
        put_in_place(folder / REFUSAL_FILE, why)
    else:
        remove(folder / REFUSAL_FILE)


def apply(control: Control, used_steps: int) -> tuple[bool, int]:
    """Whether the next step may run, and how many single steps are then used."""
    if not control.paused:
        return True, control.steps
    if used_steps < control.steps:
        return True, used_steps + 1
    return False, used_steps


def pause(folder: Path) -> Control:
    """Stop between two trains."""
    return _change(folder, lambda control: replace(control, paused=True))


def resume(folder: Path) -> Control:
    """Go on."""
    return _change(folder, lambda control: replace(control, paused=False))


def step(folder: Path, trains: int = 1) -> Control:
    """Let a paused run go on by so many trains."""
    return _change(folder, lambda control: replace(control, paused=True, steps=control.steps + trains))


def switch(folder: Path, version: int) -> Control:
    """Let another version of the network run from the next train on."""
    return _change(folder, lambda control: replace(control, version=version))


def begin_with(folder: Path, version: int, history: Mapping[str, str]) -> Control:
    """Let arcs of a version that is to come begin with what connection points keep; before the switch to it."""

    def change(control: Control) -> Control:
        others = {key: arcs for key, arcs in control.history.items() if version - _REMEMBERED < int(key) < version}
        return replace(control, history={**others, str(version): dict(history)} if history else others)

    return _change(folder, change)


def stop(folder: Path) -> Control:
    """End the run after the train at hand."""
    return _change(folder, lambda control: replace(control, stop=control.stop + 1))


def shed(folder: Path, arc: str, drop: Drop | None) -> Control:
    """Leave tuples out on an arc from the next train on, or no longer; see `arcs.check_drop` first."""
    return _change(folder, lambda control: replace(control, shed=_with(control.shed, arc, drop)))


def hold(folder: Path, arc: str, take: int | None) -> Control:
    """Let the tuples of an arc wait from the next train on, or no longer; see `arcs.check_hold` first."""
    return _change(folder, lambda control: replace(control, hold=_with(control.hold, arc, take)))


def _with(some: Mapping[str, Value], name: str, value: Value | None) -> dict[str, Value]:
    others = {key: other for key, other in some.items() if key != name}
    return others if value is None else {**others, name: value}


def _change(folder: Path, change: Callable[[Control], Control]) -> Control:
    """Change what is in force; of several processes that do at the same time, one after the other."""
    if not folder.is_dir():
        write_control(folder, Control())  # says that no run is there
    if (folder / REFUSAL_FILE).exists():
        raise RunError(f"{folder.parent}: {(folder / REFUSAL_FILE).read_text()}")
    with ExitStack() as held:
        if not is_remote(folder):  # a store has no locks: there the later one of two may win
            lock = held.enter_context((folder / f".{CONTROL_FILE}.lock").open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        control = change(read_control(folder))
        write_control(folder, control)
    return control
