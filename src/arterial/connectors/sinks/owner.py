"""Whose a place for outputs is: a folder of parts, or a file that grows, belongs to the run of one checkpoint.

A checkpoint has a number, and a mark with that number lies beside the folder or file. So the tuples of two runs
are never mixed, however the second one came there: a new checkpoint, an old one that is resumed, another user's.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from arterial.errors import RunError
from arterial.storage.damage import read_json
from arterial.storage.place import make_folder, put_if_absent, put_in_place
from arterial.storage.remote import path_of

RUN = "run-number"


@dataclass(frozen=True)
class Owner:
    """A run, by the number of its checkpoint and the folder where that was."""

    run: str
    checkpoint: str

    @property
    def exists(self) -> bool:
        """Whether its checkpoint is still there, so that the run can go on."""
        number = path_of(self.checkpoint) / RUN
        return number.is_file() and number.read_text(errors="replace") == self.run


def run_number(folder: Path) -> str:
    """The number of the run whose checkpoint this is; a new one gets a number."""
    make_folder(folder)
    put_if_absent(folder / RUN, uuid.uuid4().hex)
    return (folder / RUN).read_text(errors="replace")


def claim(place: Path, folder: Path, output: str, *, kept: bool) -> None:
    """Make a place the property of the run with this checkpoint folder, or raise if it is another's.

    `kept` says that what the place holds would stay there. Else it may be taken over from a run that cannot go on.
    """
    ours = Owner(run_number(folder), str(folder.absolute()))
    owner = owner_of(place)
    if owner == ours:
        return
    others = owner is None or owner.run != ours.run
    if others and (kept or (owner is not None and owner.exists)):
        raise foreign(place, output, owner)
    put_in_place(_mark(place), json.dumps(asdict(ours)))


def owner_of(place: Path) -> Owner | None:
    """Whose a place is. One that was deleted is nobody's."""
    return Owner(**read_json(_mark(place))) if place.exists() and _mark(place).exists() else None


def foreign(place: Path, output: str, owner: Owner | None) -> RunError:
    """What to say of a place that belongs to another run."""
    if owner is not None and owner.exists:
        whose, then = (
            f"the run with the checkpoint {path_of(owner.checkpoint).parent}",
            "Go on with that checkpoint, give",
        )
    else:
        whose, then = "an earlier run, which cannot go on", "Give"
    return RunError(
        f"output {output!r}: {place} belongs to {whose}, and the outputs of two runs are not mixed. {then} another "
        "place, or delete this one"
    )


def _mark(place: Path) -> Path:
    # Not in a folder: some readers of a folder stumble over a file of another kind. Beside what a link leads to:
    # two runs that come to one folder by two names must find each other.
    place = place.resolve() if place.exists() else place
    return place.with_name(f".{place.name}.owner.json")
