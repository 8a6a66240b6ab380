"""The life of an application that is a network with its own inputs and files: one run at a time in its folder.

The folder is locked first, because what is prepared there (cleaned input, indexes) is written before the engine locks
its checkpoint. It keeps the settings that the run began with, so that only the same command takes it up again.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from arterial.engine.run.checkpoint.lock import LOCK_FILE, lock_checkpoint, note_owner
from arterial.engine.run.figures.status import Status, note_state
from arterial.engine.run.run import Run
from arterial.errors import ArterialError, MachineError, RunError
from arterial.storage.damage import read_json
from arterial.storage.disk import durably
from arterial.storage.place import make_folder, put_in_place, remove, remove_folder

SETTINGS_FILE = "settings.json"
WARM_UP_STEPS = 12
"""Before a paced run starts its clock, so many empty steps warm up the Java machine and the Python workers."""


class Application(ABC):
    """A run that was started, or taken up again; `wait` until it is over, then a subclass writes its figures.

    `settings` are what must stay as it is for the run to go on, `place` and `otherwise` what a refusal says: where the
    other run is, and what to do if it is not to go on.
    """

    def __init__(
        self,
        folder: Path,
        checkpoint: Path,
        settings: Mapping[str, Any],
        *,
        place: str,
        otherwise: str,
        durable: bool = False,
    ) -> None:
        self.folder, self.checkpoint = folder, checkpoint
        self._noted = ""
        self._held = ExitStack()
        self._held.enter_context(durably(durable))
        try:
            self._held.enter_context(_lock(folder))
            self.resumed = check_settings(folder, settings, place=place, otherwise=otherwise)
            if not self.resumed:
                write_json(folder / SETTINGS_FILE, settings)
            self._prepare_or_clear()
            self._run = self.start()
            self._note()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def prepare(self) -> None:
        """Make ready what the network needs before it can be drawn; what was made ready before is found again."""

    @abstractmethod
    def start(self) -> Run:
        """Start the network."""

    @property
    def engine(self) -> Run:
        """The engine's run."""
        return self._run

    @property
    def ended(self) -> bool:
        """Whether it came to the end of its input, and was not only stopped."""
        return self._run.ended

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; whether it is. Raises what ended it, if that was an error."""
        try:
            over = self._run.wait(seconds)
        except ArterialError:
            self._note()
            self.close()
            raise
        self._note_unless_ended()
        if over and not self.ended:
            self.close()
        return over

    def stop(self) -> None:
        """End it after the train at hand; the same command takes it up again."""
        self._run.stop()
        self._note_unless_ended()
        self.close()

    def note(self, status: Status) -> None:
        """Write down the state of the run where users look for it."""
        note_state(self.checkpoint, status)

    def _note_unless_ended(self) -> None:
        """One that has ended is finished only when its figures are written; until then it can be taken up again."""
        if not self.ended:
            self._note()

    def _note(self) -> None:
        if self._run.status.state != self._noted:
            self._noted = self._run.status.state
            self.note(self._run.status)

    def close(self) -> None:
        """Give the folder back: the run is over, and its figures are written."""
        self._held.close()

    def _prepare_or_clear(self) -> None:
        try:
            self.prepare()
        except BaseException:
            if not (self.checkpoint / "spark").exists():
                # No step was ever planned, so a corrected command may use the folder.
                for path in self.folder.iterdir():
                    if path.is_dir():
                        remove_folder(path)
                    elif path.name != LOCK_FILE:
                        remove(path)
            raise


def check_settings(folder: Path, settings: Mapping[str, Any], *, place: str, otherwise: str) -> bool:
    """Whether a run with these settings is in the folder; one with others is refused."""
    kept = folder / SETTINGS_FILE
    if not kept.exists():
        return False
    before = read_json(kept)
    if changed := sorted(name for name in settings if settings[name] != before.get(name)):
        said = ", ".join(f"{name} was {before.get(name)} and is {settings[name]}" for name in changed)
        raise RunError(
            f"{place}: a run with other settings is there: {said}. Repeat its command to go on, or {otherwise}."
        )
    return True


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small file that people can read, whole or not at all."""
    try:
        put_in_place(path, json.dumps(content, indent=2) + "\n")
    except OSError as fault:
        raise _cannot_write(path, fault) from None


def _lock(folder: Path) -> IO[str]:
    try:
        make_folder(folder)
        lock = lock_checkpoint(folder)
        note_owner(lock, None)
    except OSError as fault:
        raise _cannot_write(folder, fault) from None
    return lock


def _cannot_write(path: Path, fault: OSError) -> MachineError:
    return MachineError(f"{fault.filename or path}: cannot be written: {fault.strerror or fault}.")
