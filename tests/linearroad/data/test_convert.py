"""Round trips of every format, and what happens when the disk or the user makes trouble."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import DataError, MachineError
from arterial.linearroad.data.convert import convert
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.data.event_files import write_city, write_events_parquet
from tests.linearroad.traffic import balance, drive_along, report, table_of, text_of

ROWS = drive_along(80, 600)
CITY = sorted([*ROWS, *drive_along(50, 600, xway=4, seed=3)], key=lambda row: row[1])


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    path = tmp_path / "flat.csv"
    path.write_bytes(text_of(CITY))
    return path


def test_flat_file_to_parquet_and_back_is_the_same_bytes(flat: Path, tmp_path: Path) -> None:
    convert(flat, tmp_path / "parquet")
    convert(tmp_path / "parquet", tmp_path / "csv", form="csv")
    assert (tmp_path / "csv" / "events.csv").read_bytes() == flat.read_bytes()
    convert(tmp_path / "csv", tmp_path / "again")
    assert open_data(tmp_path / "again").read(0, 999).equals(open_data(tmp_path / "parquet").read(0, 999))
    assert sorted(path.name for path in (tmp_path / "parquet" / "events").iterdir()) == [
        "xway-000.parquet",
        "xway-004.parquet",
    ]


def test_a_name_in_csv_makes_one_file(flat: Path, tmp_path: Path) -> None:
    convert(flat, tmp_path / "parquet")
    convert(tmp_path / "parquet", tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_bytes() == flat.read_bytes()
    dirty = tmp_path / "dirty.dat"
    dirty.write_bytes(flat.read_bytes() + b"junk")
    convert(dirty, tmp_path / "two.csv")
    assert (tmp_path / "two.csv").read_bytes() == flat.read_bytes()
    assert "junk" in (tmp_path / "two.rejects.csv").read_text()


def test_parquet_to_parquet_keeps_every_expressway(flat: Path, tmp_path: Path) -> None:
    first = convert(flat, tmp_path / "a")
    second = convert(tmp_path / "a", tmp_path / "b")
    assert (second.events, second.xways, second.counts) == (first.events, first.xways, first.counts)
    for xway in (0, 4):
        assert open_data(tmp_path / "a").read(0, 999, [xway]).equals(open_data(tmp_path / "b").read(0, 999, [xway]))


def test_a_request_stays_with_its_vehicle(tmp_path: Path) -> None:
    rows = [report(5, 1, xway=2), report(5, 2, xway=7), balance(5, 2, 1), balance(5, 1, 2), balance(9, 99, 3)]
    (tmp_path / "a.csv").write_bytes(text_of(rows))
    convert(tmp_path / "a.csv", tmp_path / "out")
    data = open_data(tmp_path / "out")
    assert data.read(0, 10, [2])["qid"].to_pylist() == [-1, 2, 3]
    assert data.read(0, 10, [7])["qid"].to_pylist() == [-1, 1]


def test_facts_of_the_source_are_kept(tmp_path: Path) -> None:
    (tmp_path / "in" / "events").mkdir(parents=True)
    write_events_parquet(tmp_path / "in" / "events" / "xway-000.parquet", [table_of(ROWS)])
    write_city(tmp_path / "in", {"seed": 42, "format": "parquet"})
    convert(tmp_path / "in", tmp_path / "out", form="csv")
    facts = json.loads((tmp_path / "out" / "city.json").read_text())
    assert (facts["seed"], facts["format"], facts["made_by"]) == (42, "csv", "convert")


def test_the_command_reports_every_line_set_aside(flat: Path, tmp_path: Path) -> None:
    lines = flat.read_bytes().splitlines(keepends=True)
    lines.insert(3, b"0,abc,1\n")
    lines.insert(9, b"\r\n")
    lines.insert(12, lines[11].replace(lines[11].split(b",")[7], b"-3", 1) if lines[11][:1] == b"0" else b"x\n")
    flat.write_bytes(b"".join(lines) + b"0,599,12,5")
    result = CliRunner().invoke(app, ["linear-road", "convert", str(flat), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0
    assert "3 of " in result.output
    assert "not 15 fields" in result.output
    assert "last line is cut short" in result.output
    assert "1 lines were blank" in result.output
    rejects = (tmp_path / "out" / "rejects.csv").read_text().splitlines()
    assert len(rejects) == 4
    assert rejects[1] == '"flat.csv",4,"not 15 fields","0,abc,1"'


def test_the_command_speaks_json_and_writes_rejects_where_told(flat: Path, tmp_path: Path) -> None:
    flat.write_bytes(b"junk\n" + flat.read_bytes())
    out, aside = tmp_path / "out", tmp_path / "aside.csv"
    arguments = ["linear-road", "convert", str(flat), "--out", str(out), "--rejects", str(aside), "--json"]
    result = CliRunner().invoke(app, arguments)
    found = json.loads(result.output)
    assert found["events"] == len(CITY)
    assert found["rejected"] == {"not 15 fields": 1}
    assert aside.is_file()
    assert not (out / "rejects.csv").exists()


def test_what_exists_is_not_replaced_unless_told(flat: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    convert(flat, out)
    with pytest.raises(DataError, match="exists already"):
        convert(flat, out)
    convert(flat, out, form="csv", force=True)
    assert not (out / "events").exists()
    other = tmp_path / "other"
    other.mkdir()
    convert(flat, other)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").touch()
    with pytest.raises(DataError, match="no data set, so it is not replaced"):
        convert(flat, precious, force=True)
    assert (precious / "thesis.tex").exists()


def test_a_rejects_file_that_exists_is_not_replaced_unless_told(flat: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside.csv"
    aside.write_text("precious")
    flat.write_bytes(flat.read_bytes() + b"junk\n")
    with pytest.raises(DataError, match=r"aside.csv: exists already"):
        convert(flat, tmp_path / "out", rejects=aside)
    assert aside.read_text() == "precious"
    convert(flat, tmp_path / "out", rejects=aside, force=True)
    assert "junk" in aside.read_text()


def test_a_named_pipe_is_read_to_its_end(flat: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(pipe.write_bytes, flat.read_bytes())
        assert convert(pipe, tmp_path / "out").events == len(CITY)
    assert written.result() == flat.stat().st_size


@pytest.mark.thorough
def test_too_many_expressways_for_this_machine_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_bytes(text_of([report(1, xway, xway=xway) for xway in range(100)]))
    script = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); {COMMAND}"
    out = tmp_path / "out"
    done = run_as_user(script, "linear-road", "convert", str(tmp_path / "many.csv"), "--out", str(out))
    assert done.returncode == 1
    assert "too many files are open" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_format_is_refused(flat: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unknown format 'xml'"):
        convert(flat, tmp_path / "out", form="xml")


def test_a_source_without_events_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(b"hello\n")
    with pytest.raises(DataError, match="not one line"):
        convert(tmp_path / "bad.csv", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_out_below_a_file_is_refused(flat: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="something else of that name is in the way"):
        convert(flat, flat / "out")


def run_as_user(script: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **options,  # type: ignore[call-overload]
    )


COMMAND = "import sys; sys.argv[0] = 'arterial'; from arterial.cli.main import main; main()"


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_file_that_may_not_grow_is_a_clear_error(flat: Path, tmp_path: Path, form: str) -> None:
    """As on a full disk: the system refuses to write more."""
    script = f"import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); \
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); {COMMAND}"
    out = tmp_path / "out"
    done = run_as_user(script, "linear-road", "convert", str(flat), "--out", str(out), "--format", form)
    assert done.returncode == 1, done.stderr
    assert "no room left to write" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["flat.csv"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 2000


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root can mount a tiny disk")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no tiny disk here: {made.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_full_disk_is_a_clear_error(flat: Path, tiny_disk: Path, form: str) -> None:
    (tiny_disk / "other").write_bytes(b"x" * 12_000)
    with pytest.raises(MachineError, match="no room left to write"):
        convert(flat, tiny_disk / "out", form=form)
    assert [path.name for path in tiny_disk.iterdir()] == ["other"]


@pytest.mark.thorough
def test_no_permission_is_a_clear_error(flat: Path, tmp_path: Path) -> None:
    """Root may do anything, so a child that is root becomes nobody first."""
    locked, secret = tmp_path / "locked", tmp_path / "secret.csv"
    locked.mkdir()
    locked.chmod(0o555)
    shutil.copy(flat, secret)
    secret.chmod(0)
    for parent in tmp_path.parents:
        if os.geteuid() == 0 and "pytest" in str(parent):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    script = """
import os, sys
from pathlib import Path
from arterial.errors import DataError
from arterial.linearroad.data.convert import convert
flat, locked, secret, new = map(Path, sys.argv[1:])
convert(flat, new)
if os.geteuid() == 0:
    os.seteuid(65534)
for source, out in ((flat, locked / "out"), (secret, new.with_name("other"))):
    try:
        convert(source, out)
    except DataError as fault:
        print(fault)
"""
    done = run_as_user(script, *map(str, (flat, locked, secret, tmp_path / "new")))
    assert done.stdout.splitlines() == [
        f"{locked / 'out'}: no permission to write there; choose a folder of your own",
        f"{secret}: no permission to read it",
    ], done.stderr
