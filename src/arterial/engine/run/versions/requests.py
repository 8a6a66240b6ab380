"""Requests to a run of another process: `arterial replace`, `optimise`, `savepoint` and `control DIR settle`.

A request is a file in the checkpoint's folder `requests`, put in place when all that it needs is there. The run looks
for requests between two steps, gives one that it takes on another name, and puts its answer beside it. One that the
asker gives up before that is withdrawn, and one that was answered is removed: whoever was killed in between finds
nothing half done.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from arterial.connectors.sink import Sink
from arterial.engine.run.checkpoint.folder import FOLDER
from arterial.engine.run.checkpoint.trusted import check_owner, load_pickle
from arterial.engine.run.figures.status import read_status
from arterial.engine.run.states import FINISHED
from arterial.engine.run.versions.version_files import load_network, pack_network, put_by_content
from arterial.engine.spark.packed_work import pickled
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.storage.place import OWN, make_folder, put_in_place, remove, rename

REQUESTS = "requests"
REPLACE, OPTIMISE, SAVEPOINT, SETTLE = "replace", "optimise", "savepoint", "settle"
_ASKED, _TAKEN = ".request", ".taken"
_PATIENCE = 60.0
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Request:
    """What a run is asked for; network and sinks are files beside it."""

    what: str
    network: str = ""
    sinks: str = ""
    history: Mapping[str, str] = field(default_factory=dict)
    """New arcs, each with the connection point whose tuples it begins with."""
    base: int = 0
    """The version that the network was made from, which must be the one that runs; 0: it stands for itself."""


@dataclass(frozen=True)
class Answer:
    """What a run says to a request."""

    accepted: bool
    said: str
    """What happens, or why nothing does."""
    version: int = 0
    """The version that runs from now on; after a refusal, the one that runs, if that is why."""
    step: int = 0
    """The first step of the version; 0 if it is not known yet, because the run waits."""


def ask(
    checkpoint: Path,
    what: str,
    network: NetworkValue | None = None,
    sinks: Mapping[str, Sink] | None = None,
    seconds: float = _PATIENCE,
    history: Mapping[str, str] | None = None,
    base: int = 0,
) -> Answer:
    """Put a request to the run of a checkpoint, and wait for its answer."""
    status = read_status(checkpoint)
    if status is not None and status.state == FINISHED:
        raise RunError(f"{checkpoint}: the run there is finished, since {status.finished}; it is too late to {what}")
    if status is None or not status.is_active:
        state = "has no run" if status is None else f"is {status.state}"
        raise RunError(
            f"{checkpoint}: the run there {state}, and only one that runs can be asked to {what}; start it with its "
            "own command, then ask again"
        )
    folder = checkpoint / FOLDER / REQUESTS
    make_folder(folder, OWN)
    name = f"{time.time_ns():x}{os.urandom(4).hex()}"
    files = {"network": "", "sinks": ""}
    if network is not None:
        content, suffix = pack_network(network)
        files["network"] = put_by_content(folder, name, content, suffix)
        if sinks:
            content = pickled(dict(sinks), network, {}, sinks)
            files["sinks"] = put_by_content(folder, name, content, ".sinks.pickle")
    request, answer = folder / f"{name}{_ASKED}", folder / f"{name}.answer"
    put_in_place(request, json.dumps(asdict(Request(what, **files, history=history or {}, base=base))))
    try:
        return _wait_for(answer, checkpoint, what, seconds)
    finally:
        for path in (request, request.with_suffix(_TAKEN), answer, *(folder / file for file in files.values() if file)):
            remove(path)


def _wait_for(answer: Path, checkpoint: Path, what: str, seconds: float) -> Answer:
    patience = time.monotonic() + seconds
    while True:
        status = read_status(checkpoint)  # first: an answer may be the last that the run did
        if answer.exists():
            return Answer(**json.loads(answer.read_text()))
        if status is None or not status.is_active:
            raise RunError(f"{checkpoint}: the run came to its end before it could {what}")
        if time.monotonic() > patience:
            remove(answer.with_suffix(_ASKED))
            if answer.with_suffix(_TAKEN).exists():
                raise RunError(
                    f"{checkpoint}: the run gave no answer in {seconds:g} s, but is at work on the request to {what}, "
                    "and may still do it; arterial status says what runs. Wait for longer (--wait)"
                )
            if answer.exists():
                continue
            raise RunError(
                f"{checkpoint}: the run gave no answer in {seconds:g} s, so the request to {what} is withdrawn; the "
                "run goes on as it was"
            )
        time.sleep(_LOOK_SECONDS)


def waiting(folder: Path) -> list[Path]:
    """The requests that a run has to answer, the oldest first; `folder` is its own in the checkpoint."""
    try:
        return sorted(path for path in (folder / REQUESTS).iterdir() if path.suffix in (_ASKED, _TAKEN))
    except FileNotFoundError:
        return []


def take(path: Path) -> Path | None:
    """Take a request on, so that it can no longer be withdrawn; None if it was. One may be of a run that was killed."""
    taken = path.with_suffix(_TAKEN)
    try:
        if path != taken:
            rename(path, taken)
    except OSError:  # it is gone, or not ours to take: its asker gives it up
        return None
    return taken


def read_request(path: Path) -> Request:
    """What is asked for. A request of another user is refused."""
    for owned in (path.parent, path):
        check_owner(owned)
    try:
        return Request(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as broken:
        raise RunError(f"{path}: not a request ({type(broken).__name__}: {broken})") from None


def network_of(path: Path, request: Request) -> tuple[NetworkValue, dict[str, Sink]]:
    """The network and the sinks of a request."""
    if not request.network or "/" in request.network + request.sinks:
        raise RunError(f"{path}: not a request for a network")
    network = load_network(path.parent / request.network)
    return network, load_pickle(path.parent / request.sinks) if request.sinks else {}


def give_answer(path: Path, answer: Answer) -> None:
    """Answer a request, and let it be no more."""
    if path.exists():
        put_in_place(path.with_suffix(".answer"), json.dumps(asdict(answer)))
        remove(path)
