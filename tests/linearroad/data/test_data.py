"""Events of every origin are read alike."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arterial.connectors.rejects import Reject
from arterial.errors import DataError
from arterial.linearroad.data.convert import convert
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.data.event_files import CsvEvents, write_city, write_events_parquet
from arterial.linearroad.formats.events import EVENT_SCHEMA
from tests.linearroad.traffic import balance, drive_along, report, table_of, text_of

ROWS = drive_along(60, 400)
OTHER_ROWS = drive_along(40, 400, xway=3, seed=1)


def our_folder(folder: Path) -> Path:
    (folder / "events").mkdir(parents=True)
    write_events_parquet(folder / "events" / "xway-000.parquet", [table_of(ROWS)])
    write_events_parquet(folder / "events" / "xway-003.parquet", [table_of(OTHER_ROWS)])
    write_city(folder, {"seed": 1})
    return folder


def in_time_order(*streams: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return sorted((row for rows in streams for row in rows), key=lambda row: row[1])


def rows_of(table: pa.Table) -> list[tuple[int, ...]]:
    assert table.schema.equals(EVENT_SCHEMA)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_our_folder(tmp_path: Path) -> None:
    data = open_data(our_folder(tmp_path / "d"))
    assert data.xways == (0, 3)
    assert data.events == len(ROWS) + len(OTHER_ROWS)
    everything = in_time_order(ROWS, OTHER_ROWS)
    assert (data.first_second, data.last_second) == (everything[0][1], everything[-1][1])
    assert rows_of(data.read(0, 10_000)) == everything
    assert rows_of(data.read(100, 130)) == [row for row in everything if 100 <= row[1] < 130]
    assert rows_of(data.read(100, 130, xways=[3])) == [row for row in OTHER_ROWS if 100 <= row[1] < 130]
    assert rows_of(data.read(10_000, 10_001)) == []
    assert data.facts == {"seed": 1}
    assert data.cleaning is None
    assert data.rejects == []


def test_second_by_second_is_the_same_as_all_at_once(tmp_path: Path) -> None:
    data = open_data(our_folder(tmp_path / "d"))
    seconds = [row for time in range(data.last_second + 1) for row in rows_of(data.read(time, time + 1))]
    assert seconds == rows_of(data.read(0, data.last_second + 1))


def test_small_row_groups_are_found_by_their_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.linearroad.data.event_files.ROW_GROUP_ROWS", 7)
    folder = our_folder(tmp_path / "d")
    assert pq.ParquetFile(folder / "events" / "xway-000.parquet").metadata.num_row_groups == -(-len(ROWS) // 7)
    data = open_data(folder)
    everything = in_time_order(ROWS, OTHER_ROWS)
    for start, stop in ((0, 1), (50, 51), (50, 60), (0, 400)):
        assert rows_of(data.read(start, stop)) == [row for row in everything if start <= row[1] < stop]


@pytest.mark.parametrize("name", ["data.csv", "cardatapoints.out0", "data.dat", "anything"])
def test_one_file_of_lines(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"bad line\n" + text_of(ROWS))
    data = open_data(tmp_path / name)
    assert rows_of(data.read(0, 1000)) == ROWS
    assert data.rejects == [Reject(1, "not 15 fields", "bad line", name)]
    assert data.cleaning is not None
    assert data.cleaning.rejected == {"not 15 fields": 1}
    assert data.xways == (0,)


def test_a_compressed_file(tmp_path: Path) -> None:
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(text_of(ROWS)))
    assert rows_of(open_data(tmp_path / "data.csv.gz").read(0, 1000)) == ROWS


def test_our_folder_with_a_flat_file(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    with CsvEvents(folder / "events.csv") as file:
        file.write(table_of(in_time_order(ROWS, OTHER_ROWS)))
    write_city(folder, {"seed": 1})
    data = open_data(folder)
    assert data.xways == (0, 3)
    assert rows_of(data.read(0, 1000)) == in_time_order(ROWS, OTHER_ROWS)
    assert rows_of(data.read(0, 1000, xways=[3])) == OTHER_ROWS


def test_a_folder_with_a_file_an_expressway(tmp_path: Path) -> None:
    (tmp_path / "cardatapoints.out0").write_bytes(text_of(ROWS))
    (tmp_path / "cardatapoints.out1").write_bytes(text_of(OTHER_ROWS))
    (tmp_path / "README").write_text("not events")
    assert rows_of(open_data(tmp_path).read(0, 1000)) == in_time_order(ROWS, OTHER_ROWS)


def test_a_folder_with_pieces_one_after_the_other(tmp_path: Path) -> None:
    for part in range(3):
        (tmp_path / f"part-{part}.csv").write_bytes(text_of([row for row in ROWS if row[1] // 150 == part]))
    (tmp_path / "_SUCCESS").touch()
    assert rows_of(open_data(tmp_path).read(0, 1000)) == ROWS


def test_a_report_that_two_files_have_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(text_of([report(5, 1), report(6, 2)]))
    (tmp_path / "b.csv").write_bytes(text_of([report(5, 9, xway=1), report(5, 1, xway=1)]))
    data = open_data(tmp_path)
    assert data.read(0, 9)["vid"].to_pylist() == [1, 9, 2]
    assert [(reject.file, reject.line) for reject in data.rejects] == [("b.csv", 2)]
    assert data.cleaning is not None
    assert data.cleaning.events == 3
    assert data.cleaning.set_aside == 1


def test_parquet_of_others_is_cleaned(tmp_path: Path) -> None:
    rows = [report(5, 1), (0, 6, 2, -1, 0, 1, 0, 0, 0, -1, -1, -1, -1, -1, -1), balance(7, 1, 3)]
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(EVENT_SCHEMA.names)})
    names = ["Type", "Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos", "QID", "S_init", "S_end", "DOW", "TOD"]
    pq.write_table(table.rename_columns([*names, "Day"]), tmp_path / "walmart.parquet")
    data = open_data(tmp_path)
    assert rows_of(data.read(0, 10)) == [rows[0], rows[2]]
    assert [reject.line for reject in data.rejects] == [2]


def test_parquet_that_lacks_columns_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"type": [0]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"columns time, vid, .* are missing"):
        open_data(tmp_path / "a.parquet")


def test_out_of_order_parquet_is_put_in_order_within_the_disorder(tmp_path: Path) -> None:
    pq.write_table(table_of([report(9, 1), report(8, 2), report(2, 3)]), tmp_path / "a.parquet")
    data = open_data(tmp_path / "a.parquet", disorder=1)
    assert data.read(0, 10)["vid"].to_pylist() == [2, 1]
    assert len(data.rejects) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "not one line"),
        (b"\x00\x01PAR1", "no text"),
        (b"hello\nworld\n", "not one line is an event of Linear Road; line 1: not 15 fields: 'hello'"),
    ],
)
def test_a_file_without_events_is_an_error(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        open_data(tmp_path / "a.csv")


def test_a_mark_of_the_encoding_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_bytes(b"\xef\xbb\xbf0,0,1,30,0,1,0,10,55440,-1,-1,-1,-1,-1,-1\r\n")
    data = open_data(file)
    assert (data.events, len(data.rejects)) == (1, 0)


def test_missing_and_empty_folders_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        open_data(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no events in this folder"):
        open_data(tmp_path)


def test_damaged_data_sets_are_errors(tmp_path: Path) -> None:
    folder = our_folder(tmp_path / "d")
    (folder / "events" / "xway-003.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match=r"xway-003.parquet: not a Parquet file"):
        open_data(folder)
    (folder / "city.json").write_text("{")
    with pytest.raises(DataError, match=r"city.json: cannot be read"):
        open_data(folder)


def test_the_temporary_data_set_goes_with_its_data(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(text_of(ROWS))
    data = open_data(tmp_path / "a.csv")
    folder = data.folder
    assert (folder / "city.json").exists()
    data.close()
    assert not folder.exists()


def test_spark_sees_the_same_events(tmp_path: Path, spark: object) -> None:
    data = open_data(our_folder(tmp_path / "d"))
    frame = data.spark_frame(spark)  # type: ignore[arg-type]
    assert frame.columns == EVENT_SCHEMA.names
    assert frame.count() == data.events


def test_what_was_converted_tells_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(text_of([report(5, 1, lane=0), report(15, 1), report(99, 2, lane=3)]) + b"x\n")
    convert(tmp_path / "a.csv", tmp_path / "out")
    cleaning = open_data(tmp_path / "out").cleaning
    assert cleaning is not None
    assert (cleaning.early_reports, cleaning.off_ramp_reports, cleaning.set_aside) == (1, 1, 1)
    assert json.loads((tmp_path / "out" / "city.json").read_text())["made_by"] == "convert"
