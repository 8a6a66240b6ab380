"""What moves whole checkpoints, on stores: savepoints, also to and from a disk, and another number of shards.

The runs are those of a simulated Spark, whose files lie on a disk; so their checkpoints are copied to the store first.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from arterial.connectors.sinks.owner import RUN
from arterial.engine.run.checkpoint import rescale, savepoint
from arterial.engine.run.checkpoint.folder import find_checkpoint
from arterial.engine.run.checkpoint.savepoint import LINKED, SAVEPOINT_FILE, take_savepoint
from arterial.engine.run.figures.status import read_status
from arterial.errors import RunError
from arterial.storage.place import copy_folder, make_folder, put_in_place, remove_folder
from tests.faults import cases
from tests.faults.host import Case, Host, Result
from tests.faults.test_rescale import go, with_shards
from tests.faults.visit import calm
from tests.stores import RunningStore

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers")]

# A savepoint knows nothing of outputs that grow, so there all are folders.
SAVED, SHARDED = replace(cases.LEDGER, same_steps=False), with_shards(cases.WHOLE, 2)


def stopped(tmp_path: Path, case: Case) -> tuple[Path, Result]:
    """A run after a step, its checkpoint and its outputs; and what comes of it."""
    go(case, tmp_path / "run", 2, 1)
    return tmp_path / "run", calm(case, tmp_path / "calm", keep=False)[0]


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_savepoints_on_a_store_and_between_it_and_a_disk(tmp_path: Path, store: RunningStore) -> None:
    place, (run, expected) = store.folder(), stopped(tmp_path, SAVED)
    up = take_savepoint(run / "checkpoint", place / "up")
    across = take_savepoint(place / "up", place / "across")
    down = take_savepoint(place / "across", tmp_path / "down")
    assert (up.network, up.step) == (across.network, across.step) == (down.network, down.step) == ("ledger", 1)
    assert across.checkpoint == str(place / "up")
    assert names(place / "up") == names(place / "across") | {SAVEPOINT_FILE}
    assert not any(LINKED in name for name in names(place / "up"))
    status = read_status(place / "across")
    assert status is not None
    assert status.state == "stopped"
    # Its outputs are those of another run, unless it is made the same one.
    (run / "checkpoint" / "arterial" / RUN).rename(tmp_path / "down" / "arterial" / RUN)
    remove_folder(run / "checkpoint")
    (tmp_path / "down").rename(run / "checkpoint")
    assert not Host(SAVED, run).run().difference(expected, SAVED)
    with pytest.raises(RunError, match=r"across: is there already; give a new folder"):
        take_savepoint(place / "up", place / "across")


def test_a_savepoint_that_is_cut_off_is_none(
    tmp_path: Path, store: RunningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, (run, _) = store.folder(), stopped(tmp_path, SAVED)
    take_savepoint(run / "checkpoint", place / "up")
    with monkeypatch.context() as patched:
        patched.setattr(savepoint, "check_logs", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            take_savepoint(place / "up", place / "cut")
        assert not names(place / "cut")
        patched.setattr(savepoint, "remove_folder", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            take_savepoint(place / "up", place / "killed")
    with pytest.raises(RunError, match="no run is there"):
        find_checkpoint(place / "killed")


def test_another_number_of_shards_is_put_in_place(
    tmp_path: Path, store: RunningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if that is interrupted: what the driver does on the store then is done a second time."""
    run, expected = stopped(tmp_path, SHARDED)
    with monkeypatch.context() as patched:
        patched.setattr(rescale, "finish_rescaling", Mock(side_effect=InterruptedError))
        with pytest.raises(InterruptedError):
            go(SHARDED, run, 3, 0)
    checkpoint = store.folder()
    copy_folder(run / "checkpoint", checkpoint)
    own = checkpoint / "arterial"
    make_folder(own / "chunks" / "000-000")
    put_in_place(own / "chunks" / "000-000" / "of-the-old-state", b"")
    with monkeypatch.context() as patched:
        patched.setattr(rescale, "remove", Mock(side_effect=InterruptedError))
        with pytest.raises(InterruptedError):
            rescale.finish_rescaling(own)
    rescale.finish_rescaling(own)
    found = names(own)
    assert "chunks/000-000/of-the-old-state" not in found
    assert any(name.startswith("chunks/") for name in found)
    assert not any(name.startswith("rescaled") for name in found)
    assert not names(checkpoint / "spark")
    remove_folder(run / "checkpoint")
    copy_folder(checkpoint, run / "checkpoint")
    other = with_shards(SHARDED, 3)
    assert not Host(other, run).run().difference(expected, other)
