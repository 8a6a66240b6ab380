"""The table of a connection point: what counts, whatever is merged, dropped, killed or read meanwhile."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import polars as pl
import pytest

from arterial.connectors.points import keeper as keeper_module
from arterial.connectors.points.conditions import Condition, may_match
from arterial.connectors.points.contents import TableFile, read_contents, stamp_of, write_contents
from arterial.connectors.points.history import tuples_before
from arterial.connectors.points.keeper import Keeper, worth_merging
from arterial.connectors.points.source import PointSource, RetentionError
from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.databases.table import TableSink
from arterial.connectors.source import Ask, Part, Progress
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END, Train
from tests.seeds import seeds

SCHEMA = Schema.of({"time": int, "seg": "int16", "text": str})
STREAM = Stream(SCHEMA, "time")
ALL = Ask(0.0, 10**9)


def table(folder: Path, retention: int = 10**6, key: tuple[str, ...] = ("seg",)) -> TableSink:
    return TableSink(folder / "points" / "kept", retention, key).bind("kept", STREAM, folder)


def tuples(step: int, slot: int = 0, count: int = 6) -> pl.DataFrame:
    """Some tuples of seconds 10 * step … 10 * step + 9, each different."""
    rng = random.Random(step * 100 + slot)
    times = sorted(rng.randrange(10 * step, 10 * step + 10) for _ in range(count))
    rows = {
        "time": times,
        "seg": [rng.randrange(100) for _ in times],
        "text": [f"{step}-{slot}-{n}" for n in range(count)],
    }
    return pl.DataFrame(rows, schema=SCHEMA.polars())


def give(
    sink: TableSink, step: int, slots: int = 2, through: int | None = None, *, commit: bool = True
) -> pl.DataFrame:
    """A step, as the tasks and the driver of a run write it; its tuples as a reader should see them."""
    through = 10 * step + 9 if through is None else through
    parts = [tuples(step, slot) for slot in range(slots)]
    for slot, part in enumerate(parts):
        sink.write(Delivery("kept", step, slot, Train(part, through)))
    if commit:
        sink.commit(step)
    return pl.concat(parts).sort("time", maintain_order=True)


def source(sink: TableSink, **options: object) -> PointSource:
    return PointSource(sink.folder, **options).bind("kept", SCHEMA, "time", Path())  # type: ignore[arg-type]


def everything(one: PointSource, at: Progress | None = None, ask: Ask = ALL) -> tuple[pl.DataFrame, Progress]:
    """All that a source gives from where it is."""
    at = at or one.begin()
    frames = [SCHEMA.empty()]
    while (after := one.plan(at, ask)) != at:
        frames.append(one.read(at, after, Part(0, 1)))
        at = after
    return pl.concat(frames), at


def merged_now(sink: TableSink) -> None:
    """Let the merge at hand finish."""
    assert sink.keeper is not None
    if sink.keeper._thread is not None:
        sink.keeper._thread.join()


def test_only_whole_committed_steps_are_seen(tmp_path: Path) -> None:
    sink = table(tmp_path)
    first = give(sink, 1)
    give(sink, 2, commit=False)
    seen, at = everything(source(sink))
    assert seen.equals(first)
    assert at.through == 19
    sink.commit(2)
    assert everything(source(sink), at)[0].height == 12


def test_a_step_that_is_run_again_changes_nothing(tmp_path: Path) -> None:
    sink = table(tmp_path)
    expected = pl.concat([give(sink, 1), give(sink, 2)])
    give(sink, 2)
    again = table(tmp_path)  # as after kill -9 between our commit and Spark's
    give(again, 2)
    assert everything(source(again))[0].equals(expected)


def test_a_part_that_a_task_named_counts_though_the_folder_does_not_list_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = table(tmp_path)
    first = give(sink, 1)
    receipts = [sink.write(Delivery("kept", 2, slot, Train(tuples(2, slot), 29))) for slot in (0, 1)]
    with monkeypatch.context() as network:
        network.setattr(Path, "glob", lambda *_: iter(()))
        for receipt in receipts:
            sink.receive(2, receipt)
        sink.commit(2)
    assert len(sink.read()) == 2 * len(first)


def test_an_empty_step_moves_the_time_on(tmp_path: Path) -> None:
    sink = table(tmp_path)
    give(sink, 1)
    for slot in (0, 1):
        sink.write(Delivery("kept", 2, slot, Train(SCHEMA.empty(), 77 + slot)))
    sink.commit(2)
    assert everything(source(sink))[1].through == 77  # the slot that is behind decides
    assert len(list(Path(sink.folder).glob("part-000000002-*"))) == 0


def test_tuples_beyond_what_is_complete_wait(tmp_path: Path) -> None:
    sink = table(tmp_path)
    ahead, behind = tuples(1, 0), tuples(1, 1)
    sink.write(Delivery("kept", 1, 0, Train(ahead, 19)))
    sink.write(Delivery("kept", 1, 1, Train(behind.filter(pl.col("time") <= 14), 14)))
    sink.commit(1)
    seen, at = everything(source(sink))
    assert int(seen["time"].max()) <= 14 == at.through  # type: ignore[arg-type]
    sink.write(Delivery("kept", 2, 0, Train(SCHEMA.empty(), 19)))
    sink.write(Delivery("kept", 2, 1, Train(behind.filter(pl.col("time") > 14), 19)))
    sink.commit(2)
    more, _ = everything(source(sink), at)
    assert sorted(pl.concat([seen, more]).rows()) == sorted(pl.concat([ahead, behind]).rows())


def test_history_begins_with_a_whole_instant(tmp_path: Path) -> None:
    """The retention drops the file of one slot, and keeps that of another with tuples of the same seconds."""
    sink = table(tmp_path, retention=14)
    step = tuples(1, count=40)
    early, rest = step.filter(pl.col("time") <= 12).gather_every(2), step.filter(pl.col("time") >= 11)
    assert early["time"].max() == 12
    sink.write(Delivery("kept", 1, 0, Train(early, 19)))
    sink.write(Delivery("kept", 1, 1, Train(rest, 19)))
    sink.commit(1)
    expected = pl.concat([rest.filter(pl.col("time") > 12), give(sink, 2)])
    assert read_contents(Path(sink.folder)).lost == 12
    assert everything(source(sink))[0].equals(expected)
    assert everything(source(sink, since=11))[0].equals(expected)
    assert sink.read().equals(expected)
    assert tuples_before(Path(sink.folder), 3).equals(expected)  # type: ignore[union-attr]


@pytest.mark.thorough
def test_a_merge_keeps_the_order_and_hides_what_it_merged(tmp_path: Path) -> None:
    sink = table(tmp_path)
    expected = []
    for step in range(1, 80):
        expected.append(give(sink, step))
        merged_now(sink)
    contents = read_contents(Path(sink.folder))
    assert sum(file.tier == 1 for file in contents.files) == 2
    assert everything(source(sink))[0].equals(pl.concat(expected))
    sink.finish()
    on_disk = {path.name for path in Path(sink.folder).glob("*.parquet")}
    assert on_disk == {file.name for file in read_contents(Path(sink.folder)).files}
    assert sink.read().equals(pl.concat(expected))


def test_retention_drops_whole_files_and_a_reader_behind_it_is_told(tmp_path: Path) -> None:
    sink = table(tmp_path, retention=50)
    give(sink, 1)
    one = source(sink)
    _, at = everything(one)
    for step in range(2, 20):
        give(sink, step)
    with pytest.raises(RetentionError, match=r"after 19 through 1\d\d are no longer kept"):
        everything(one, at)
    going_on = source(sink, skip_lost=True)
    seen, _ = everything(going_on, at)
    assert going_on.reading.lost[0][0] == 19
    fresh, _ = everything(source(sink))
    assert seen.equals(fresh)  # who begins now gets all that is kept, and misses nothing that it was promised
    assert int(fresh["time"].min()) >= 130  # type: ignore[arg-type]


def test_a_file_that_left_stays_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = table(tmp_path, retention=20)
    for step in range(1, 10):
        give(sink, step)
    assert (Path(sink.folder) / "part-000000001-000.parquet").exists()
    monkeypatch.setattr(keeper_module, "GRACE_SECONDS", -1.0)
    give(sink, 10)
    assert not (Path(sink.folder) / "part-000000001-000.parquet").exists()


@pytest.mark.thorough
def test_killed_between_a_merged_file_and_the_contents(tmp_path: Path) -> None:
    sink = table(tmp_path)
    expected = pl.concat([give(sink, step) for step in range(1, 35)])
    merged_now(sink)  # the merged file is in place, and nobody knows
    assert list(Path(sink.folder).glob("merged-*"))
    again = table(tmp_path)
    assert everything(source(again))[0].equals(expected)
    again.commit(34)  # Spark runs the step again
    assert not list(Path(sink.folder).glob("merged-*"))
    assert everything(source(again))[0].equals(expected)


@pytest.mark.thorough
def test_two_sinks_of_one_table_go_on_from_each_other(tmp_path: Path) -> None:
    one, other = table(tmp_path), table(tmp_path)  # as two versions of a network have them
    expected = []
    for step in range(1, 50):
        first, second = (one, other) if step % 3 else (other, one)
        expected.append(give(first, step))
        second.commit(step)
    assert everything(source(one))[0].equals(pl.concat(expected))


@pytest.mark.thorough
def test_a_reader_whose_files_are_gone_looks_again(tmp_path: Path) -> None:
    sink = table(tmp_path)
    expected = pl.concat([give(sink, step) for step in range(1, 35)])
    one = source(sink)
    stale = one.look()
    merged_now(sink)
    expected = pl.concat([expected, give(sink, 35)])
    sink.finish()
    one.reading.contents = stale
    one.reading.stamp = stamp_of(Path(one.folder))
    after = Progress({"through": 359}, 359)
    assert one.read(one.begin(), after, Part(0, 1)).equals(expected)


def test_a_reader_whose_table_is_gone_gives_no_wrong_answer(tmp_path: Path) -> None:
    sink = table(tmp_path)
    for step in range(1, 4):
        give(sink, step)
    one = source(sink)
    after = one.plan(one.begin(), ALL)
    rmtree(one.folder)
    with pytest.raises(RunError, match="begun again"):
        one.read(one.begin(), after, Part(0, 1))
    give(table(tmp_path), 1)
    with pytest.raises(RunError, match="begun again"):
        one.look()


@pytest.mark.parametrize("seed", seeds(8, usual=3))
def test_readers_and_the_keeper_at_random_moments(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps, merges, kills of the keeper; two readers that are killed and resume: no gap, no duplicate, in order."""
    monkeypatch.setattr(keeper_module, "MERGED_AT_ONCE", 3)
    monkeypatch.setattr(keeper_module, "GRACE_SECONDS", 0.0)
    rng = random.Random(seed)
    sink = table(tmp_path, key=("seg",) if seed % 2 else ())
    expected: list[pl.DataFrame] = []
    readers = [(source(sink), source(sink).begin(), [SCHEMA.empty()]) for _ in range(2)]
    for step in range(1, 60):
        give(sink, step, commit=False)
        if rng.random() < 0.2:
            sink = table(tmp_path)
            give(sink, step, commit=False)
        expected.append(give(sink, step))
        if rng.random() < 0.2:
            merged_now(sink)
        if rng.random() < 0.1:
            sink = table(tmp_path)
        for number, (one, at, seen) in enumerate(readers):
            if rng.random() < 0.5:
                one = source(sink) if rng.random() < 0.5 else one
                ask = Ask(0.0, rng.choice([1, 20, 10**6]), until=rng.choice([None, 10 * step - 13]))
                after = one.plan(at, ask)
                if after != at:
                    seen.append(one.read(at, after, Part(0, 1)))
                readers[number] = (one, after, seen)
    for one, at, seen in readers:
        rest, _ = everything(one, at)
        assert pl.concat([*seen, rest]).equals(pl.concat(expected))


def test_since_and_up_to(tmp_path: Path) -> None:
    sink = table(tmp_path)
    whole = pl.concat([give(sink, step) for step in range(1, 9)])
    part, at = everything(source(sink, since=25, up_to=61))
    assert part.equals(whole.filter(pl.col("time").is_between(25, 61)))
    assert at.through == 61
    give(sink, 9, through=END)
    assert everything(source(sink))[1].through == END


@pytest.mark.thorough
def test_a_condition_on_the_storage_key_reads_the_matching_part_only(tmp_path: Path) -> None:
    sink = table(tmp_path)
    rows = 400_000
    many = pl.DataFrame(
        {"time": range(rows), "seg": [n % 1000 for n in range(rows)], "text": ["x"] * rows}, SCHEMA.polars()
    )
    for step in range(34):
        part = many.slice(step * rows // 34, (step + 1) * rows // 34 - step * rows // 34)
        sink.write(Delivery("kept", step + 1, 0, Train(part, int(part["time"][-1]))))
        sink.commit(step + 1)
    merged_now(sink)
    sink.finish()
    whole = source(sink)
    everything(whole)
    some = source(sink, conditions=(Condition("seg", 17, 17),))
    found, _ = everything(some)
    assert found.filter(pl.col("seg") == 17).equals(many.filter(pl.col("seg") == 17))
    # The merged file has 23 row groups, of which one has the segment; the two parts after it have all segments.
    assert some.reading.bytes < 0.15 * whole.reading.bytes
    none = source(sink, conditions=(Condition("seg", values=(5000, 6000)),))
    assert everything(none)[0].is_empty()
    assert none.reading.bytes == 0


def test_only_the_wanted_columns_are_read(tmp_path: Path) -> None:
    sink = table(tmp_path)
    give(sink, 1)
    narrow = PointSource(sink.folder).bind("kept", Schema.of({"time": int}), "time", Path())
    assert narrow.read(narrow.begin(), narrow.plan(narrow.begin(), ALL), Part(0, 1)).columns == ["time"]
    for schema, said in (
        ({"sge": "int16", "time": int}, "did you mean 'seg'"),
        ({"time": int, "seg": int}, "it is int16"),
    ):
        with pytest.raises(RunError, match=said):
            PointSource(sink.folder).bind("kept", Schema.of(schema), "time", Path())
    with pytest.raises(RunError, match="its time is 'seg'"):
        PointSource(sink.folder).bind("kept", Schema.of({"seg": "int16"}), "seg", Path())


def test_a_folder_without_a_table(tmp_path: Path) -> None:
    sink = table(tmp_path)
    with pytest.raises(RunError, match=r"no connection point 'kapt'; there are: kept; did you mean 'kept'"):
        PointSource(Path(sink.folder).parent / "kapt").bind("kapt", SCHEMA, "time", Path())


def test_other_columns_under_the_same_name_are_refused(tmp_path: Path) -> None:
    table(tmp_path)
    with pytest.raises(RunError, match="Give the connection point another name"):
        TableSink(tmp_path / "points" / "kept", 5).bind("kept", Stream(Schema.of({"time": int}), "time"), tmp_path)


def test_damaged_files_say_so(tmp_path: Path) -> None:
    sink = table(tmp_path)
    give(sink, 1)
    (Path(sink.folder) / "contents.json").write_text("{")
    with pytest.raises(RunError, match=r"contents\.json: is damaged"):
        read_contents(Path(sink.folder))
    (Path(sink.folder) / "point.json").write_text("[]")
    with pytest.raises(RunError, match=r"point\.json: is damaged"):
        source(sink)


def test_a_merge_that_fails_is_reported(tmp_path: Path) -> None:
    sink = table(tmp_path)
    for step in range(1, 33):
        give(sink, step)
    (Path(sink.folder) / "part-000000003-000.parquet").write_bytes(b"nothing")
    give(sink, 33)
    merged_now(sink)
    with pytest.raises(RunError, match="merging its files failed"):
        give(sink, 34)


def test_what_is_worth_merging() -> None:
    def one(step: int, size: int, tier: int = 0, slot: int = 0) -> TableFile:
        return TableFile(f"{step}-{slot}", step, step, tier, 1, size, 0, 0)

    small = [one(step, 10, slot=slot) for step in range(32) for slot in range(2)]
    assert worth_merging(small) == small
    assert worth_merging(small[:-2]) == []
    large = keeper_module.LARGE_BYTES
    assert worth_merging([one(0, large), *small[2:]]) == []
    assert worth_merging([one(step, large // 3) for step in range(5)]) == [one(step, large // 3) for step in range(3)]


def test_conditions() -> None:
    assert may_match([Condition("a", 3)], {"a": (1, 3)})
    assert not may_match([Condition("a", 4)], {"a": (1, 3)})
    assert not may_match([Condition("a", None, 0)], {"a": (1, 3)})
    assert may_match([Condition("b", 9)], {"a": (1, 3)})
    assert may_match([Condition("a", "x")], {"a": (1, 3)})
    assert may_match([Condition("a", values=(0, 2, 9))], {"a": (1, 3)})
    assert not may_match([Condition("a", values=(0, 9))], {"a": (1, 3)})


def test_nulls_and_texts_in_the_storage_key(tmp_path: Path) -> None:
    sink = TableSink(tmp_path / "points" / "kept", 100, ("text",)).bind("kept", STREAM, tmp_path)
    rows = pl.DataFrame({"time": [1, 2, 3], "seg": [None, 1, 2], "text": ["b", None, "a"]}, SCHEMA.polars())
    sink.write(Delivery("kept", 1, 0, Train(rows, 3)))
    sink.commit(1)
    wanted = source(sink, conditions=(Condition("text", "b"),))  # a null has no place in a range: the file is opened
    assert everything(wanted)[0].equals(rows.head(1))
    assert everything(source(sink))[0].equals(rows)


def test_the_keeper_stays_on_the_driver(tmp_path: Path) -> None:
    import pickle

    sink = table(tmp_path)
    assert isinstance(sink.keeper, Keeper)
    assert pickle.loads(pickle.dumps(sink)).keeper is None


def test_files_that_left_survive_a_restart_until_their_time(tmp_path: Path) -> None:
    sink = table(tmp_path)
    give(sink, 1)
    folder = Path(sink.folder)
    (folder / "merged-000000001-000000001-01.parquet").write_bytes(b"")
    write_contents(
        folder, replace(read_contents(folder), leaving=(("merged-000000001-000000001-01.parquet", time.time()),))
    )
    table(tmp_path).commit(1)
    assert (folder / "merged-000000001-000000001-01.parquet").exists()
    assert read_contents(folder).through > BEGIN
