"""When a box fails on a tuple: which one it was, and the policies `fail` and `set aside`.

A train fails as a whole, so the tuple is found by trying shorter and shorter beginnings of the train on the state from
before it. The error then names the box and the tuple; or the tuple is set aside and counted, and the train goes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from arterial.engine.state.chunk_files import DamagedStateError
from arterial.engine.state.overlay import Overlay
from arterial.errors import RunError
from arterial.network.box import Box
from arterial.network.network import NetworkValue
from arterial.network.state import State
from arterial.network.train import Train
from arterial.storage.place import put_in_place, remove

FAIL = "fail"
SET_ASIDE = "set aside"
POLICIES = (FAIL, SET_ASIDE)
MOST_REJECTS = 1000
"""So many tuples of one train may be set aside; beyond that, the box is broken and not the tuples."""


@dataclass(frozen=True)
class Reject:
    """A tuple that a box failed on."""

    box: str
    port: str
    error: str
    tuple: Mapping[str, Any] | None

    def json(self) -> str:
        """One line of text that says it all."""
        return json.dumps(asdict(self), default=str, ensure_ascii=False)


class BoxFailedError(RunError):
    """A box failed on a tuple, and the policy is to stop."""

    def __init__(self, network: str, reject: Reject) -> None:
        shown = "" if reject.tuple is None else f" on the tuple {json.dumps(reject.tuple, default=str)}"
        port = f" (input {reject.port!r})" if reject.port else ""
        super().__init__(
            f"network {network!r}, box {reject.box!r}{port}: it failed{shown}: {reject.error}. Fix the box or the "
            f"data and start again with the same checkpoint, or run with the policy {SET_ASIDE!r} to leave it out."
        )
        self.network, self.reject = network, reject

    def __reduce__(self) -> tuple[Any, ...]:
        return BoxFailedError, (self.network, self.reject)


def process_guarded(
    network: NetworkValue, box: Box, trains: Mapping[str, Train], state: State, rejects: list[Reject], policy: str
) -> Mapping[str, Train]:
    """Let a box process its trains; if it fails, find the tuple and follow the policy."""
    remaining = dict(trains)
    for _ in range(MOST_REJECTS):
        overlay = Overlay(state)
        try:
            outputs = box.process(remaining, overlay)
        except DamagedStateError:
            raise
        except (Exception, pl.exceptions.PanicException) as failure:
            state.memo.clear()
            reject, remaining = _find(box, remaining, state, failure)
            if policy == FAIL or reject.tuple is None:
                raise BoxFailedError(network.name, reject) from failure
            rejects.append(reject)
        else:
            overlay.commit()
            return outputs
    raise BoxFailedError(network.name, Reject(box.name, "", f"it failed on {MOST_REJECTS} tuples of one train", None))


MOST_REJECT_BYTES = 256 << 20
MOST_REJECT_FILES = 10_000
"""So much is kept of tuples that were set aside; of more, the oldest steps' are removed. Small files count as well:
a step that sets one tuple aside makes one, and the folder is looked through at each of these steps."""


def trim_rejects(folder: Path, most: int = MOST_REJECT_BYTES, most_files: int = MOST_REJECT_FILES) -> None:
    """Remove the oldest files of tuples that were set aside until the rest is small enough."""
    files = sorted(folder.glob("part-*.jsonl"), reverse=True)
    kept = 0
    for number, path in enumerate(files):
        kept += path.stat().st_size
        if number and (kept > most or number >= most_files):
            remove(path)


def write_rejects(folder: Path, step: int, level: int, slot: int, rejects: Sequence[Reject]) -> None:
    """Keep the tuples that were set aside in a step, as JSON lines; a step that is run again writes the same file."""
    path = folder / f"part-{step:09d}-{level + 1:03d}-{slot:03d}.jsonl"
    try:
        put_in_place(path, "".join(reject.json() + "\n" for reject in rejects))
    except OSError as trouble:
        raise RunError(f"cannot write the tuples set aside to {path}: {trouble.strerror}") from None


def _find(
    box: Box, trains: Mapping[str, Train], state: State, failure: BaseException
) -> tuple[Reject, dict[str, Train]]:
    """The first tuple without which the box does not fail, and the trains without it."""
    attempt = {port: Train(train.tuples.clear(), train.through) for port, train in trains.items()}
    if _fails(box, attempt, state):
        return Reject(box.name, "", describe(failure), None), dict(trains)
    for port, train in trains.items():
        if not _fails(box, attempt | {port: train}, state):
            attempt[port] = train
            continue
        fine, failing = 0, len(train)
        while failing - fine > 1:
            middle = (fine + failing) // 2
            if _fails(box, attempt | {port: Train(train.tuples.head(middle), train.through)}, state):
                failing = middle
            else:
                fine = middle
        culprit = train.tuples.row(failing - 1, named=True)
        others = pl.concat([train.tuples.head(failing - 1), train.tuples.slice(failing)])
        error = describe(failure)
        return Reject(box.name, port, error, culprit), {**trains, port: Train(others, train.through)}
    return Reject(box.name, "", describe(failure), None), dict(trains)


def _fails(box: Box, trains: Mapping[str, Train], state: State) -> bool:
    try:
        box.process(trains, Overlay(state))
    except (Exception, pl.exceptions.PanicException):
        return True
    finally:
        state.memo.clear()
    return False


def describe(failure: BaseException) -> str:
    """An exception as one line of text."""
    text = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {text[0]}" if text else type(failure).__name__
