"""Versions of a network that runs: another one takes over between two trains, and every step says which it ran with.

The version rides in the offset, which Spark logs before a step, and in the header of all that is sent. So a replay runs
each step with the network that it had. State belongs to boxes by name: a box that both versions have goes on with its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from arterial.engine.plan.plan import Plan, Superbox
from arterial.engine.spark.packed_work import PackedWork, pickled
from arterial.engine.spark.work import Work
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.storage.place import PRIVATE, put_in_place

NETWORKS = "networks"


def check_successor(old: Plan, new: Plan, levels: int) -> None:
    """Refuse a version that could not go on from where the one before it is."""
    name = new.network.name
    if {box.name for box in old.sources} != {box.name for box in new.sources}:
        raise RunError(f"network {name!r}: another version must have the same sources; start a new run for others")
    if len(new.levels) > levels:
        raise RunError(
            f"network {name!r}: this version needs {len(new.levels)} shuffles, and the run was started with {levels}; "
            "start a new run for it"
        )
    before = {box.name: box for box in old.network.boxes}
    for box in new.network.boxes:
        was = before.get(box.name)
        if was is None or (box.stateless and was.stateless) or not box.inputs:
            continue
        if was != box:
            raise RunError(f"network {name!r}, box {box.name!r}: it keeps state and is changed; give it another name")
        one, other = old.superbox_of(box.name), new.superbox_of(box.name)
        if (one.level, one.where, one.key) != (other.level, other.where, other.key):
            raise RunError(
                f"network {name!r}, box {box.name!r}: its state lies in level {one.level} by {_shown(one)}, and is "
                f"looked for in level {other.level} by {_shown(other)}; start a new run for it"
            )


def keep_network(folder: Path, version: int, network: NetworkValue) -> None:
    """Keep a version of the network with the checkpoint, for steps that are run again."""
    (folder / NETWORKS).mkdir(exist_ok=True)
    path = folder / NETWORKS / f"{version:04d}.pickle"
    if not path.exists():
        put_in_place(path, pickled(network, network, {}, {}), mode=PRIVATE)


def kept_networks(folder: Path) -> Mapping[int, NetworkValue]:
    """All versions that a checkpoint knows."""
    from pyspark import cloudpickle

    kept = {}
    for path in sorted((folder / NETWORKS).glob("*.pickle")):
        try:
            kept[int(path.stem)] = cloudpickle.loads(path.read_bytes())
        except Exception as broken:  # whatever a pickle that was cut or overwritten raises
            raise RunError(
                f"the checkpoint is damaged: {path} cannot be read ({type(broken).__name__}: {broken}). Restore it "
                "from a copy; if it is of the version that runs, delete it, and it is written again."
            ) from None
    return kept


def offer(packed: PackedWork, work: Work, version: int, plan: Plan, sinks: Mapping[str, Any]) -> Work:
    """Put another version where the tasks of a run find it."""
    another = replace(work, version=version, plan=plan, sinks=sinks)
    packed.add(another)
    return another


def _shown(superbox: Superbox) -> str:
    return ", ".join(superbox.key) or str(superbox.where)
