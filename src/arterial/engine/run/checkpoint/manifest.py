"""The manifest of a checkpoint: what it was made with, so that nothing else goes on from it by mistake."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from arterial.engine.plan.plan import Plan
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.storage.place import put_in_place
from arterial.version import __version__

MANIFEST = "manifest.json"
FORMAT = 7
_DAMAGED = "Restore it from a copy, or begin from the start (--force, or a new folder as checkpoint)."


@dataclass(frozen=True)
class Made:
    """What a checkpoint was made with: how many levels its query has, and whether this network was declared."""

    levels: int
    declared: bool = True


def check_manifest(folder: Path, plan: Plan, running: NetworkValue | None = None) -> Made:
    """Write the manifest of a new checkpoint, or refuse to go on from one that was made with something else.

    The plan is that of the network which the command or script declares, or of the `running` one.
    """
    wanted = _manifest(plan, len(plan.levels))
    path = folder / MANIFEST
    if not path.exists():
        if (folder.parent / "spark" / "offsets").is_dir():
            raise RunError(f"the checkpoint is damaged: {path} is missing. {_DAMAGED}")
        write_manifest(folder, plan)
        return Made(len(plan.levels))
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as broken:
        raise RunError(f"the checkpoint is damaged: {path} cannot be read ({broken}). {_DAMAGED}") from None
    if not isinstance(found, dict) or not {"boxes", "levels"} <= found.keys():
        raise RunError(f"the checkpoint is damaged: {path} is not a manifest. {_DAMAGED}")
    checkpoint = folder.parent
    for name, remedy in _REMEDIES.items():
        if found.get(name) != wanted[name]:
            raise RunError(
                f"the checkpoint {checkpoint} does not fit: its {name} is {_shown(found.get(name))}, "
                f"this run's is {_shown(wanted[name])}. {remedy.format(found=found.get(name))}"
            )
    declared = found["boxes"] == wanted["boxes"]
    if not declared and (running is None or describe_boxes(running) != wanted["boxes"]):
        raise RunError(
            f"the checkpoint {checkpoint} is of another network: {_difference(found['boxes'], wanted['boxes'])}. "
            "Run the network that it was made with, let this one go on from it (--replace), or give a new folder as "
            "checkpoint to begin from the start."
        )
    return Made(found["levels"], declared)


def kept_shards(folder: Path) -> int | None:
    """The number of shards that a checkpoint was made with; None for a new one, or where that cannot be read."""
    found = _said(folder).get("shards")
    return found if isinstance(found, int) and found > 0 else None


def declared_boxes(folder: Path) -> dict[str, str] | None:
    """The boxes of the network that a checkpoint was begun with; None if its manifest cannot be read."""
    return _said(folder).get("boxes")


def declared_levels(folder: Path) -> int:
    """How many shuffles the query of a checkpoint has."""
    return int(_said(folder).get("levels", 0))


def _said(folder: Path) -> dict[str, Any]:
    try:
        said = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return {}  # what is wrong with it, the start says
    return said if isinstance(said, dict) else {}


def write_manifest(folder: Path, plan: Plan) -> None:
    """Say what the checkpoint is made with."""
    put_in_place(folder / MANIFEST, json.dumps(_manifest(plan, len(plan.levels)), indent=2))


def rescaled(folder: Path, shards: int) -> str:
    """The manifest of a checkpoint with another number of shards."""
    said = _said(folder)
    return json.dumps({**said, "shards": shards, "plan": {**said.get("plan", {}), "shards": shards}}, indent=2)


_REMEDIES = {
    "format": "Run it with the version of arterial that made it, or give a new folder as checkpoint.",
    "network": "Run the network that it was made with, or give a new folder as checkpoint.",
    "shards": "Leave it out, or give --shards {found}.",
}


def _manifest(plan: Plan, levels: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "levels": levels,
        "network": plan.network.name,
        "shards": plan.shards,
        "boxes": describe_boxes(plan.network),
        "plan": plan.describe(),
        "versions": {"arterial": __version__, "polars": pl.__version__},
    }


def describe_boxes(network: NetworkValue) -> dict[str, str]:
    """Each box with what feeds it, as a short digest of all its settings."""
    return {
        box.name: hashlib.sha256(
            f"{box!r} {sorted((port, str(begin)) for port, begin in network.arrivals(box).items())}".encode()
        ).hexdigest()[:16]
        for box in network.boxes
    }


def _difference(found: dict[str, str], wanted: dict[str, str]) -> str:
    said = []
    if added := sorted(set(wanted) - set(found)):
        said.append(f"new: {', '.join(added)}")
    if gone := sorted(set(found) - set(wanted)):
        said.append(f"gone: {', '.join(gone)}")
    if changed := sorted(name for name in set(found) & set(wanted) if found[name] != wanted[name]):
        said.append(f"changed: {', '.join(changed)}")
    return "; ".join(said)


def _shown(value: object) -> str:
    return repr(value)
