"""Lines of several shards, put into the order of one."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from arterial.connectors.pace import MAX, Pace
from arterial.connectors.sink import Delivery
from arterial.moving.application import merging
from arterial.moving.application.merging import merged, sizes_of_numbers
from arterial.moving.application.update_sink import UpdateSink
from arterial.moving.queries.ids import id_order, parsed_id
from arterial.network.train import Train
from arterial.storage.appended import AppendedFiles
from tests.seeds import seeds

Update = tuple[int, str, int, int | str]


def opened(folder: Path, *, spread: bool) -> UpdateSink:
    sink = UpdateSink(
        AppendedFiles({"0": folder / "out.csv"}, folder / "parts", merged), pace=Pace(0, MAX, 4), spread=spread
    )
    folder.mkdir()
    sink.files.open(folder)
    return sink


def write(sink: UpdateSink, step: int, slot: int, updates: list[Update]) -> None:
    kinds = {"t": pl.Int64, "query": pl.String, "sign": pl.Int8, "object": pl.String if texts(updates) else pl.Int64}
    sink.write(Delivery("updates", step, slot, Train(pl.DataFrame(updates, schema=kinds, orient="row"), step)))


def texts(updates: list[Update]) -> bool:
    return any(isinstance(update[3], str) for update in updates)


@pytest.mark.parametrize("seed", seeds(6))
def test_as_one_shard_writes_them(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(merging, "BLOCK", chance.choice([1, 50, 1 << 22]))
    names = ["7", "-3", "10", "9", "007", "bus 7", "bus 10", "é\nü", "", "99999999999999999999"][: 2 + seed * 2]
    ids: list[int | str] = [5, 12, -700, 1 << 40] if seed % 2 else ["5", "a,b", "line\nend", "ß"]
    one, many = opened(tmp_path / "one", spread=False), opened(tmp_path / "many", spread=True)
    slot_of = {name: chance.randrange(3) for name in names}
    for step in range(4):
        found = {
            (t, name, chance.choice([-1, 1]), chance.choice(ids))
            for t in range(10 * step, 10 * step + 3)
            for name in names
            for _ in range(chance.randrange(4))
        }
        updates = sorted(found, key=lambda u: (u[0], id_order(parsed_id(u[1])), u[2], id_order(parsed_id(str(u[3])))))
        write(one, step, 0, updates)
        for slot in range(3):
            write(many, step, slot, [update for update in updates if slot_of[update[1]] == slot])
        for sink in (one, many):
            sink.commit(step)
    assert (tmp_path / "many" / "out.csv").read_bytes() == (tmp_path / "one" / "out.csv").read_bytes()
    assert many.updates == one.updates
    assert [path.name for path in (tmp_path / "many" / "parts").iterdir()] == ["journal.json"]


def test_sizes_of_numbers() -> None:
    numbers = [0, 9, 10, 99, 100, -1, -9, -10, -99, -100, 10**18, 10**18 - 1, -(10**18), 2**63 - 1, -(2**63)]
    each = sizes_of_numbers(np.array(numbers, np.int64), np.arange(len(numbers)))
    assert each.tolist() == [len(str(number)) for number in numbers]
    assert sizes_of_numbers(np.array([1, 22, -3, 4]), np.array([0, 3])).tolist() == [5, 1]


def test_parts_that_are_not_merged_follow_each_other(tmp_path: Path) -> None:
    files = AppendedFiles({"0": tmp_path / "out"}, tmp_path / "parts", lambda parts: BytesIO(b"%d\n" % len(parts)))
    files.open(tmp_path)
    for step, slots in enumerate([[0], [0, 1], [1]]):
        for slot in slots:
            files.part("0", step, slot).write_text(f"step {step}\n")
        files.append(step)
    assert (tmp_path / "out").read_text() == "step 0\n2\nstep 2\n"
