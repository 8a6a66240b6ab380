"""What a run left about its input: the network, the sources, and what of them changed since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from arterial.causes.explanation import Explanation
from arterial.causes.local_record import read_record
from arterial.causes.why import SECONDS, explain_row
from arterial.connectors.files.intake import load_intake
from arterial.connectors.files.source import FileSource
from arterial.connectors.points.contents import POINTS
from arterial.engine.run.checkpoint.folder import FOLDER, find_checkpoint
from arterial.engine.run.checkpoint.trusted import load_pickle
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.storage.remote import path_of


def recorded(
    folder: Path, load: Callable[[str], NetworkValue] | None = None
) -> tuple[NetworkValue, dict[str, Any], list[str]]:
    """The network that a run ran last, its sources, and which of their files are not as they were read.

    The folder is that of the outputs, or the checkpoint. `load` finds a local run's network by its place.
    """
    for place in (folder, folder.parent) if folder.name == "local" else (folder,):
        if (local := read_record(place, load)) is not None:
            return local
    checkpoint = find_checkpoint(folder)
    works = sorted((checkpoint / FOLDER / "works").glob("[0-9]*.pickle"))
    if not works:
        raise RunError(
            f"{checkpoint}: it does not say what its sources read; say which network and files: --network FILE.py:NAME "
            "--source NAME=PATH"
        )
    work = load_pickle(works[-1])
    sources = dict(work.sources)
    return work.plan.network, sources, [change for name, one in sources.items() for change in _changes(name, one)]


def why_in(folder: Path, output: str, asked: str | Mapping[str, Any], *, seconds: float = SECONDS) -> Explanation:
    """Why a row of an output of a run in any process is as it is; `asked` is a condition, or the row's values."""
    network, sources, changed = recorded(folder)
    said = explain_row(network, sources, output, asked, seconds=seconds, points=points_of(folder))
    return replace(said, notes=(*said.notes, *changed))


def points_of(folder: Path) -> Path | None:
    """The folder of a run's connection points, if it keeps any."""
    try:
        return find_checkpoint(folder) / POINTS
    except RunError:
        return None


def _changes(name: str, source: Any) -> list[str]:
    if not isinstance(source, FileSource) or source.request is None:
        return []
    intake = load_intake(path_of(source.folder), source.request, source._follow)
    return [f"source {name!r}: {change}" for change in intake.changes()] if intake else []
