"""A command that finds its run finished says so, without Spark; `--force` removes what the run left and starts over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arterial.connectors.sink import Sink
from arterial.engine.plan.views import without_views
from arterial.engine.run.binding import bind_sources
from arterial.engine.run.checkpoint.folder import FOLDER, STARTING_OVER, STATUS_FILE, check_path
from arterial.engine.run.checkpoint.lock import lock_checkpoint
from arterial.engine.run.checkpoint.manifest import MANIFEST, describe_boxes
from arterial.engine.run.control.settlement import SETTLED
from arterial.engine.run.figures.status import Status, read_status
from arterial.engine.run.states import FINISHED
from arterial.errors import RunError
from arterial.figures.steps_file import remove_steps
from arterial.network.network import NetworkValue
from arterial.storage.place import make_folder, put_in_place, remove, remove_folder


def finished(checkpoint: Path, network: NetworkValue, sources: Mapping[str, Any]) -> Status | None:
    """The status of a finished run of this network; None if there is none, or another one that the start refuses.

    The sources are bound, because a source whose files have changed since refuses there.
    """
    check_path(checkpoint)
    status = read_status(checkpoint)
    if status is None or status.state != FINISHED or (checkpoint / STARTING_OVER).exists():
        return None
    try:
        kept = json.loads((checkpoint / FOLDER / MANIFEST).read_text())["boxes"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if kept != describe_boxes(without_views(network)):
        return None
    with lock_checkpoint(checkpoint / FOLDER):
        bind_sources(network, sources, checkpoint / FOLDER)
    return status


def start_over(checkpoint: Path, sinks: Mapping[str, Sink], *more: str) -> None:
    """Remove what a run left in its checkpoint, and what its sinks wrote; `more` are folders of the application's own.

    Nothing else in the folder is touched, and a run that is at work there is refused.
    """
    folder = checkpoint / FOLDER
    marker = checkpoint / STARTING_OVER
    if checkpoint.exists() and any(checkpoint.iterdir()):
        if not folder.is_dir() and not marker.exists():
            raise RunError(f"--force: {checkpoint} is not the checkpoint of a run; remove it yourself if it may go")
        make_folder(folder)
        with lock_checkpoint(folder):
            put_in_place(marker, b"")
            for name in ("spark", "points", "parts", SETTLED, *more, FOLDER):
                remove_folder(checkpoint / name)
            remove(checkpoint / STATUS_FILE)
            remove_steps(checkpoint)
    for sink in sinks.values():
        sink.start_over()
    remove(marker)
