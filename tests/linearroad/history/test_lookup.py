"""The look-ups of the history: against dictionaries, from anyone's files, and from files that are broken."""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from arterial.errors import ArterialError, DataError, MachineError
from arterial.linearroad.history import lookup as lookup_module
from arterial.linearroad.history.lookup import SegmentLookup, TollLookup
from arterial.linearroad.history.tables import SEGMENT_HISTORY, TOLL_HISTORY

Keys = dict[tuple[int, int, int], int]


def write_csv(path: Path, rows: list[tuple[int, ...]], header: str = "") -> Path:
    lines = [header] if header else []
    path.write_text("\n".join([*lines, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def write_parquet(path: Path, rows: list[tuple[int, ...]], schema: pa.Schema) -> Path:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    pa.parquet.write_table(pa.table(arrays, schema=schema), path)
    return path


def check_tolls(found: TollLookup, expected: Keys, seed: int = 0) -> None:
    """Every key, and keys that are near ones but are not there."""
    random = np.random.default_rng(seed)
    asked = list(expected)
    for vid, day, xway in list(expected)[:500]:
        asked += [(vid + 1, day, xway), (vid, day + 1, xway), (vid, day - 1, xway), (vid, day, xway + 1)]
        asked += [(vid, int(random.integers(1, 70)), xway), (vid - 1, day, xway), (2**62, day, xway)]
    asked += [(-1, 1, 0), (0, 0, 0), (0, -1, 0), (0, 70, 0), (0, 1, -1), (0, 2**40, 0), (2**63 - 1, 1, 0)]
    tolls, known = found.tolls(*np.array(asked, dtype=np.int64).T)
    assert tolls.dtype == np.int64
    assert known.dtype == np.bool_
    assert tolls.tolist() == [expected.get(key, 0) for key in asked]
    assert known.tolist() == [key in expected for key in asked]


def some_rows(kind: str, seed: int = 1) -> list[tuple[int, ...]]:
    random = np.random.default_rng(seed)
    if kind == "complete":
        return [(v, d, x, int(random.integers(0, 9999))) for v in range(30) for d in range(1, 70) for x in range(2)]
    if kind == "walmart":  # a row for each vehicle and day, on any expressway
        return [
            (v, d, int(random.integers(0, 5)), int(random.integers(0, 99))) for v in range(50) for d in range(1, 70)
        ]
    vids = random.integers(0, 2**62, 40)
    rows = {
        (int(random.choice(vids)), int(random.integers(1, 70)), int(random.integers(0, 3)) * 1000): int(
            random.integers(0, 99)
        )
        for _ in range(800)
    }
    return [(*key, toll) for key, toll in rows.items()]


@pytest.mark.parametrize("kind", ["complete", "walmart", "sparse"])
@pytest.mark.parametrize("form", ["csv", "parquet", "header", "gzip", "shuffled"])
def test_tolls_agree_with_a_dictionary(kind: str, form: str, tmp_path: Path) -> None:
    rows = some_rows(kind)
    expected = {(vid, day, xway): toll for vid, day, xway, toll in rows}
    if form == "parquet":
        source = write_parquet(tmp_path / "tolls.parquet", rows, TOLL_HISTORY.schema)
    elif form == "header":
        turned = [(toll, xway, vid, day) for vid, day, xway, toll in rows]
        source = write_csv(tmp_path / "tolls.csv", turned, "Toll,Expressway,CarId,DAY")
    elif form == "gzip":
        source = tmp_path / "tolls.csv.gz"
        source.write_bytes(gzip.compress(write_csv(tmp_path / "plain", rows).read_bytes()))
    else:
        if form == "shuffled":
            np.random.default_rng(2).shuffle(rows)
        source = write_csv(tmp_path / "tolls.csv", rows)
    check_tolls(TollLookup.build(source, tmp_path / "cache"), expected)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffVID,Day,XWay,Tolls\r\n7,1,0,10\r\n",
        "\ufeff7,1,0,10\n",
        " 7, 1, 0, 10\n",
        '"7","1","0","10"\n',
        "7,1,0,10",
    ],
)
def test_habits_of_other_programs(text: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(text, newline="")
    check_tolls(TollLookup.build(tmp_path / "t", tmp_path / "cache"), {(7, 1, 0): 10})


def test_of_repeated_keys_the_last_counts(tmp_path: Path) -> None:
    rows = [(1, 5, 0, 10), (2, 5, 0, 20), (1, 5, 0, 30), (1, 5, 1, 40), (2, 5, 0, 50)]
    found = TollLookup.build(write_csv(tmp_path / "t", rows), tmp_path / "cache")
    assert found.repeated == 2
    check_tolls(found, {(1, 5, 0): 30, (2, 5, 0): 50, (1, 5, 1): 40})


def test_a_folder_of_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    write_csv(folder / "part-1", [(3, 1, 0, 7), (1, 1, 0, 8)])
    write_parquet(folder / "part-0.parquet", [(1, 1, 0, 5), (2, 1, 0, 6)], TOLL_HISTORY.schema)
    (folder / "_SUCCESS").touch()
    check_tolls(TollLookup.build(folder, tmp_path / "cache"), {(1, 1, 0): 8, (2, 1, 0): 6, (3, 1, 0): 7})


def test_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_module, "_CHUNK", 100)
    monkeypatch.setattr("arterial.linearroad.history.tables._BLOCK_BYTES", 1000)
    rows = some_rows("complete")
    expected = {(vid, day, xway): toll for vid, day, xway, toll in rows}
    check_tolls(TollLookup.build(write_csv(tmp_path / "t", rows), tmp_path / "a"), expected)
    check_tolls(TollLookup.build(write_csv(tmp_path / "t", rows[::-1]), tmp_path / "b"), expected)


def test_replicas_have_their_own_vehicles_and_expressways(tmp_path: Path) -> None:
    found = TollLookup.build(write_csv(tmp_path / "t", [(7, 1, 0, 10), (8, 1, 1, 20)]), tmp_path / "cache")
    asked = [(7, 1, 0), (107, 1, 2), (208, 1, 5), (107, 1, 0), (107, 1, 4), (7, 1, 2)]
    tolls, known = found.tolls(*np.array(asked).T, vids_apart=100, xways_apart=2)
    assert tolls.tolist() == [10, 10, 20, 0, 0, 0]
    assert known.tolist() == [True, True, True, False, False, False]


def test_no_requests(tmp_path: Path) -> None:
    found = TollLookup.build(write_csv(tmp_path / "t", [(7, 1, 0, 10)]), tmp_path / "cache")
    tolls, known = found.tolls([], [], [])
    assert len(tolls) == len(known) == 0


def test_negative_tolls_are_credits(tmp_path: Path) -> None:
    found = TollLookup.build(write_csv(tmp_path / "t", [(7, 1, 0, -10)]), tmp_path / "cache")
    assert found.tolls([7], [1], [0])[0].tolist() == [-10]


def test_a_look_up_is_built_once_and_again_when_the_file_changes(tmp_path: Path) -> None:
    source, cache = write_csv(tmp_path / "t", [(7, 1, 0, 10)]), tmp_path / "cache"
    TollLookup.build(source, cache)
    made = (cache / "tolls-rows.npy").stat().st_mtime_ns
    TollLookup.build(source, cache)
    assert (cache / "tolls-rows.npy").stat().st_mtime_ns == made
    write_csv(source, [(7, 1, 0, 11), (8, 1, 0, 12)])
    check_tolls(TollLookup.build(source, cache), {(7, 1, 0): 11, (8, 1, 0): 12})
    assert sorted(path.name for path in cache.iterdir() if path.name.startswith(".")) == []


def test_it_is_kept_open_until_another_history_is_written_there(tmp_path: Path) -> None:
    source, cache = write_csv(tmp_path / "t", [(7, 1, 0, 10)]), tmp_path / "lookup"
    TollLookup.build(source, cache)
    first = TollLookup.kept_open(str(cache))
    assert TollLookup.kept_open(str(cache)) is first
    assert TollLookup.kept_open(str(tmp_path)).tolls([7], [1], [0])[0].tolist() == [10]
    TollLookup.build(write_csv(source, [(7, 1, 0, 11), (8, 1, 0, 12)]), cache)
    for place in (cache, tmp_path):
        assert TollLookup.kept_open(str(place)).tolls([7], [1], [0])[0].tolist() == [11]


def test_open_finds_the_look_up_or_makes_it(tmp_path: Path) -> None:
    write_csv(tmp_path / "tolls.csv", [(7, 1, 0, 10)])
    write_csv(tmp_path / "segments.csv", [(1, 1, 0, 0, 0, 60, 5, 0)])
    for place in (tmp_path, tmp_path / "lookup", tmp_path / "tolls.csv"):
        assert TollLookup.open(place).tolls([7], [1], [0])[0].tolist() == [10]
    assert (tmp_path / "tolls.csv.lookup").is_dir()
    for place in (tmp_path, tmp_path / "lookup", tmp_path / "segments.csv"):
        assert SegmentLookup.open(str(place)).means(0, 0, 0, 1, 1) == (60, 5)


def test_a_damaged_look_up_is_said_to_be(tmp_path: Path) -> None:
    TollLookup.build(write_csv(tmp_path / "t", [(7, 1, 0, 10)]), tmp_path / "cache")
    (tmp_path / "cache/tolls-rows.npy").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"tolls-rows\.npy: damaged.*make it again"):
        TollLookup.open(tmp_path / "cache")
    (tmp_path / "cache/tolls-rows.npy").unlink()
    with pytest.raises(DataError, match=r"tolls-rows\.npy: no such file"):
        TollLookup.open(tmp_path / "cache")


@pytest.mark.thorough
def test_segment_sums_agree_with_a_dictionary(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    rows = [
        (
            int(random.integers(1, 71)),
            int(random.choice([1, 2, 720, 1440])),
            int(random.choice([4, 0, 2])),
            int(random.integers(0, 2)),
            int(random.choice([0, 1, 99])),
            int(random.integers(-1, 90)),
            int(random.integers(0, 120)),
            0,
        )
        for _ in range(3000)
    ]
    from_csv = SegmentLookup.build(write_csv(tmp_path / "s.csv", rows), tmp_path / "a")
    from_parquet = SegmentLookup.build(write_parquet(tmp_path / "s", rows, SEGMENT_HISTORY.schema), tmp_path / "b")
    assert from_csv.xways.tolist() == [0, 2, 4]
    expected: dict[tuple[int, ...], list[int]] = {}
    for day, minute, xway, dir_, seg, lav, cnt, _ in rows:
        sums = expected.setdefault((xway // 2, dir_, (day - 1) % 7, minute - 1, seg), [0, 0, 0, 0])
        sums[0] += max(lav, 0)
        sums[1] += lav > 0
        sums[2] += cnt
        sums[3] += 1
    for found in (from_csv, from_parquet):
        cells = found.cells[found.places]
        assert {key: cells[key].tolist() for key in expected} == expected
        assert cells[..., 3].sum() == len(rows)


def test_travel_times_from_a_file(tmp_path: Path) -> None:
    rows = [(day, minute, 3, 0, seg, 30, 60, 200) for day in (1, 8) for minute in range(1, 20) for seg in range(5)]
    found = SegmentLookup.build(write_csv(tmp_path / "s.csv", rows), tmp_path / "a")
    seconds, toll = found.travel_times([3, 3, 4, 103], [0, 0, 0, 0], [5, 5, 5, 5], [1, 2, 1, 1], [1, 1, 1, 1])
    assert seconds.tolist() == [600, -1, -1, -1]
    assert toll.tolist() == [1000, -1, -1, -1]
    assert found.travel_times([103], [0], [5], [1], [1], xways_apart=100)[0].tolist() == [600]
    assert found.means(3, 0, 0, 1, 1) == (30, 60)
    assert found.means(3, 1, 0, 1, 1) == found.means(9, 0, 0, 1, 1) == (None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t: expected rows of TollHistory \(vid,day,xway,tolls\), found none"),
        ("\n", r"t: expected rows of TollHistory"),
        ("VID,Day,XWay,Tolls\n", r"t: expected rows of TollHistory"),
        ("1,2,3,4\n1,2,3\n", r"t:2: expected 4 fields \(vid,day,xway,tolls\), found 3: '1,2,3'"),
        ("1,2,3,4\n\n1,2,3,4,5\n", r"t:3: expected 4 fields .* found 5"),
        ("1,2,3,4\n1,2,,4\n", r"t:2: xway of TollHistory must be an integer from 0 to .*, found ''"),
        ("1,2,3,4\n1,two,3,4\n", r"t:2: day of TollHistory must be an integer .*, found 'two'"),
        ("1,2,3,4.5\n", r"t:1: tolls of TollHistory .* found '4\.5'"),
        ("1,2,3,4\n\n\n-5,2,3,4\n", r"t:4: vid of TollHistory must be an integer from 0 .*, found '-5'"),
        ("99999999999999999999,2,3,4\n", r"t:1: vid of TollHistory must be"),
        ("car,day,amount\n1,2,3\n", r"t:1: TollHistory needs the columns .*; vid, xway, tolls not found"),
        ("VID,Day,XWay,Tolls\n1,2,3,x\n", r"t:2: tolls of TollHistory must be"),
        ("VID,Day,XWay,Tolls\n1,2,3\n", r"t:2: expected 4 fields, found 3"),
        ("\x00\x01\x02 not a table at all", r"t:1: TollHistory needs the columns"),
        ("PAR1 but no Parquet", r"t: not a readable Parquet file"),
    ],
)
def test_dirty_toll_files(text: str, message: str, tmp_path: Path) -> None:
    source = tmp_path / "t"
    source.write_text(text)
    with pytest.raises(DataError, match=message):
        TollLookup.build(source, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_dirty_parquet(tmp_path: Path) -> None:
    source = tmp_path / "t.parquet"
    table = pa.table({"VID": [1, 2], "Day": [1, 1], "XWay": [0, -1], "Tolls": [1, 2], "more": ["a", "b"]})
    pa.parquet.write_table(table, source)
    with pytest.raises(DataError, match=r"t\.parquet: row 2 of TollHistory: xway must be .* found -1"):
        TollLookup.build(source, tmp_path / "cache")
    pa.parquet.write_table(table.set_column(2, "XWay", [[0, None]]), source)
    with pytest.raises(DataError, match=r"row 2 of TollHistory: xway must be .* found None"):
        TollLookup.build(source, tmp_path / "cache")
    pa.parquet.write_table(table.set_column(2, "XWay", [["a", "b"]]), source)
    with pytest.raises(DataError, match="column XWay of TollHistory must hold integers, it is string"):
        TollLookup.build(source, tmp_path / "cache")
    pa.parquet.write_table(table.drop_columns(["Tolls"]), source)
    with pytest.raises(DataError, match=r"tolls not found\. There are: VID, Day, XWay, more"):
        TollLookup.build(source, tmp_path / "cache")
    source.write_bytes(source.read_bytes()[:-20])
    with pytest.raises(DataError, match="not a readable Parquet file"):
        TollLookup.build(source, tmp_path / "cache")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("71,1,0,0,0,50,5,0", "day of SegmentHistory must be an integer from 1 to 70, found '71'"),
        ("1,0,0,0,0,50,5,0", "minute of SegmentHistory"),
        ("1,1,0,2,0,50,5,0", "dir of SegmentHistory"),
        ("1,1,0,0,100,50,5,0", "seg of SegmentHistory"),
        ("1,1,0,0,0,50,-1,0", "cnt of SegmentHistory"),
        ("1,1,0,0,0,50", "expected 8 fields"),
    ],
)
def test_dirty_segment_files(row: str, message: str, tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.write_text(f"1,1,0,0,0,50,5,0\n{row}\n")
    with pytest.raises(DataError, match=f"s:2: {message}"):
        SegmentLookup.build(source, tmp_path / "cache")


def test_rows_beyond_reason_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.write_text("1,1,0,0,0,50,5,0\n" * 10_001)
    with pytest.raises(DataError, match=r"more than 10,000 rows fall on .* day 1, minute 1, xway 0, dir 0, seg 0"):
        SegmentLookup.build(source, tmp_path / "cache")


def test_missing_and_empty_places(tmp_path: Path) -> None:
    for opened in (TollLookup, SegmentLookup):
        with pytest.raises(DataError, match="nowhere: no such file or folder"):
            opened.open(tmp_path / "nowhere")
        with pytest.raises(DataError, match="the folder holds no file"):
            opened.open(tmp_path)


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "t", [(7, 1, 0, 10)])
    (tmp_path / "file").touch()
    with pytest.raises(ArterialError, match="file"):
        TollLookup.build(source, tmp_path / "file")


@pytest.mark.parametrize("opened", [TollLookup, SegmentLookup])
def test_a_full_disk(opened: type[TollLookup | SegmentLookup], tmp_path: Path) -> None:
    row = (7, 1, 0, 10) if opened is TollLookup else (1, 1, 0, 0, 0, 50, 5, 0)
    source = write_csv(tmp_path / "t", [row])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(MachineError, match="no room on the disk"):
            opened.build(source, tmp_path / "cache")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "cache").iterdir()) == []


def test_space_is_reserved_also_where_the_system_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.posix_fallocate")
    rows = [(1, 1, 3, 0, 0, 60, 5, 0), (1, 1, 4, 0, 0, 40, 7, 0)]
    found = SegmentLookup.build(write_csv(tmp_path / "s", rows), tmp_path / "cache")
    assert (found.means(3, 0, 0, 1, 1), found.means(4, 0, 0, 1, 1)) == ((60, 5), (40, 7))
