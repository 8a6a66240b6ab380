"""A stopped run goes on with another number of shards (decision 47).

Its state is put together for the new number beside the old one, with the manifest and the offset to go on from. When
all of that is written, a marker says so, and it takes the place of the old state and of Spark's part of the checkpoint.
Who is killed before the marker has changed nothing; who is killed after it finishes at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from arterial.engine.plan.plan import Plan
from arterial.engine.run.checkpoint.manifest import MANIFEST, declared_levels, rescaled
from arterial.engine.spark.logs.offset_log import last_offsets
from arterial.engine.spark.partitions import spark_keys
from arterial.engine.spark.task import CHUNKS
from arterial.engine.state.regroup import Rule, regroup, rules
from arterial.engine.state.slot_state import SEED, SlotState, forget_cache, names_in
from arterial.engine.steering.offsets import BEGIN_FILE
from arterial.errors import RunError
from arterial.network.state import Chunk
from arterial.storage.disk import sync
from arterial.storage.epoch import check_epoch
from arterial.storage.place import PRIVATE, copy_folder, make_folder, put_in_place, remove, remove_folder, rename
from arterial.storage.remote import renames_folders

RESCALED, READY = "rescaled", "ready"
NEW_CHUNKS = "rescaled-chunks"
"""Beside the chunks, whose place they take: a rename within one folder is done whole or not at all, also in a power
cut. S3 has no such rename: they are copied there."""

Indexes = Callable[[int], Sequence[tuple[int, int, bytes]]]
"""Of so many operators of Spark's query: for each slot that has state, the operator, the key and the index."""


def rescale(folder: Path, run: str, plan: Plan, owners: Mapping[str, str], before: int, indexes: Indexes) -> None:
    """Let a run go on with the shards of a plan; `before` is the number that its checkpoint has."""
    spark, draft = folder.parent / "spark", folder / RESCALED
    begin = _last_offset(spark, before) or _first_offset(folder)
    _remove_draft(folder)
    make_folder(draft)
    try:
        if begin is not None:
            levels, found = declared_levels(folder), rules(plan, owners)
            in_spark = indexes(levels) if _last(spark / "commits") >= 0 else []
            _regroup_state(folder, plan, found, before, _indexes(folder, plan, found, before, levels, in_spark))
            put_in_place(draft / BEGIN_FILE, json.dumps(begin))
        put_in_place(draft / MANIFEST, rescaled(folder, plan.shards))
    except BaseException:
        _remove_draft(folder)
        raise
    finally:
        forget_cache()
    # On a store nothing keeps another driver off; if one took over, the draft is its own, or was removed by it.
    check_epoch(folder, run)
    put_in_place(draft / READY, b"")
    finish_rescaling(folder)


def finish_rescaling(folder: Path) -> None:
    """Put in place what a rescaling has written, also if it was interrupted; forget one that did not come so far."""
    draft = folder / RESCALED
    if not draft.is_dir():
        return
    if (draft / READY).exists():
        remove_folder(folder.parent / "spark")
        # If it came back after a power cut that has no marker, the run would go on with both states.
        sync(folder.parent)
        _adopt_older(folder)
        if (folder / NEW_CHUNKS).is_dir():
            remove_folder(folder / CHUNKS)
            if renames_folders(folder):
                rename(folder / NEW_CHUNKS, folder / CHUNKS)
            else:  # Whoever is interrupted copies again: the draft is there until the marker is gone.
                copy_folder(folder / NEW_CHUNKS, folder / CHUNKS)
        for name in (BEGIN_FILE, MANIFEST):
            if (draft / name).exists():
                put_in_place(folder / name, (draft / name).read_bytes())
        remove(draft / READY)
        # If it came back after steps with the new state, they would be removed for it.
        sync(draft)
    _remove_draft(folder)


def _adopt_older(folder: Path) -> None:
    """The chunks of a rescaling that an older version left half done: it kept them with the rest of the draft."""
    older = folder / RESCALED / CHUNKS
    if older.is_dir():
        remove_folder(folder / NEW_CHUNKS)
        rename(older, folder / NEW_CHUNKS)
        sync(folder)
        sync(folder / RESCALED)


def _remove_draft(folder: Path) -> None:
    remove_folder(folder / NEW_CHUNKS)
    remove_folder(folder / RESCALED)


def _last_offset(spark: Path, shards: int) -> dict[str, Any] | None:
    """Where the last step ended; None if there was none."""
    done, planned = (_last(spark / log) for log in ("commits", "offsets"))
    if planned > done:
        raise RunError(
            f"the checkpoint {spark.parent}: its last step was begun and not finished, so its state is not whole. Go "
            f"on with --shards {shards}, stop the run with arterial stop, and change the shards then."
        )
    if done < 0:
        return None
    offset = last_offsets(spark, 1)
    if not offset:
        raise RunError(f"the checkpoint {spark.parent}: a DataFrame of Spark is its source, so its shards must stay")
    return {name: value for name, value in offset[0].items() if name != "version"}


def _first_offset(folder: Path) -> dict[str, Any] | None:
    """Where a run is to go on that was rescaled, and did no step since."""
    path = folder / BEGIN_FILE
    begin: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return begin


def _last(log: Path) -> int:
    return max((int(path.name) for path in log.glob("*") if path.name.isdigit()), default=-1)


def _indexes(
    folder: Path,
    plan: Plan,
    found: Mapping[str, Rule],
    before: int,
    levels: int,
    in_spark: Sequence[tuple[int, int, bytes]],
) -> dict[int, dict[int, bytes]]:
    """The index of each slot that has state, by level: as Spark has it, or else its seed."""
    level_of, keys = _levels(plan, found), spark_keys(before)
    indexes: dict[int, dict[int, bytes]] = {level: {} for level in range(levels)}
    for path in (folder / CHUNKS).glob(f"*/{SEED}"):
        level, slot = map(int, path.parent.name.split("-"))
        indexes[level][slot] = path.read_bytes()
    # Which way Spark counts its operators, the names in their state say.
    forwards = True
    for operator, _, packed in in_spark:
        for owner, _, _ in names_in(packed):
            if owner in level_of:
                forwards = level_of[owner] == operator
    for operator, key, packed in in_spark:
        indexes[operator if forwards else levels - 1 - operator][keys.index(key)] = packed
    return indexes


def _regroup_state(
    folder: Path, plan: Plan, found: Mapping[str, Rule], before: int, indexes: Mapping[int, Mapping[int, bytes]]
) -> None:
    for level, slots in indexes.items():
        old = [_Old(folder / CHUNKS / f"{level:03d}-{slot:03d}", slots.get(slot)) for slot in range(before)]
        stores = [_Held() for _ in range(plan.shards)]
        folders = [folder / NEW_CHUNKS / f"{level:03d}-{slot:03d}" for slot in range(plan.shards)]
        new = [SlotState(object(), store, place) for store, place in zip(stores, folders, strict=True)]
        # What belongs to no box of this version is left behind.
        for owner in sorted({owner for slot in old for owner in slot.owners} & found.keys()):
            kept = regroup(found[owner], [slot.chunks(owner) for slot in old], plan.shards)
            for state, parts in zip(new, kept, strict=True):
                for (table, key), chunk in parts.items():
                    state.of(owner).put(table, key, chunk)
        for state, store, place in zip(new, stores, folders, strict=True):
            state.save()
            if store.value is not None:
                make_folder(place)
                put_in_place(place / SEED, store.value[0], mode=PRIVATE)


def _levels(plan: Plan, found: Mapping[str, Rule]) -> dict[str, int]:
    """The level of each owner of state."""
    of_boxes = {box.name: level.number for level in plan.levels for sb in level.superboxes for box in sb.boxes}
    of_channels = {channel.waits: level.number for level in plan.levels for channel in level.arrivals}
    levels = of_boxes | of_channels
    return {owner: levels[rule.owner] for owner, rule in found.items() if rule.owner in levels}


class _Held:
    """A value as Spark's state store holds one."""

    def __init__(self, packed: bytes | None = None) -> None:
        self.value: tuple[Any, ...] | None = None if packed is None else (packed,)

    def get(self) -> tuple[Any, ...] | None:
        """The value."""
        return self.value

    def update(self, newValue: tuple[Any, ...]) -> None:  # noqa: N803
        """Replace it."""
        self.value = newValue


class _Old:
    """The state of a slot as it is, by owner."""

    def __init__(self, folder: Path, packed: bytes | None) -> None:
        self._names = [] if packed is None else names_in(packed)
        self._state = SlotState(object(), _Held(packed), folder, tidy=False)

    @property
    def owners(self) -> set[str]:
        """Who keeps something."""
        return {owner for owner, _, _ in self._names}

    def chunks(self, owner: str) -> dict[tuple[str, str], Chunk]:
        """What an owner keeps, by table and key."""
        state, found = self._state.of(owner), dict[tuple[str, str], Chunk]()
        for of, table, key in self._names:
            if of == owner and (chunk := state.get(table, key)) is not None:
                found[table, key] = chunk
        return found
