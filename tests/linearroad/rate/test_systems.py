"""Other systems: their commands, and the history that they get."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from arterial.errors import RunError
from arterial.linearroad.rate.systems import command_of, write_tolls

PEERS = Path(__file__).parents[3] / "peers"


def test_a_folder_has_a_command(tmp_path: Path) -> None:
    assert command_of("my-system {output}") == "my-system {output}"
    with pytest.raises(RunError, match="has a file 'command'"):
        command_of(str(tmp_path))
    (tmp_path / "command").write_text("{python} {here}/system.py {output}\n")
    assert command_of(str(tmp_path)) == f"{{python}} {tmp_path}/system.py {{output}}"


def test_a_misspelt_place_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nothing is filled into \{ouput\}; the places are .*mean '\{output\}'\?"):
        command_of("my-system {ouput} {start}")
    with pytest.raises(RunError, match=r"into \{here\}; the places are \{output\}"):
        command_of("{here}/system")
    assert command_of("awk '{ print }' ${HOME}") == "awk '{ print }' ${HOME}"
    (tmp_path / "command").write_text("{here}/system.py {begin}\n")
    with pytest.raises(RunError, match=r"into \{begin\}; the places are .*\{here\}"):
        command_of(str(tmp_path))


def test_what_is_no_command_is_refused_at_once() -> None:
    with pytest.raises(RunError, match="expected a command, or a folder with one, found nothing"):
        command_of("  ")
    with pytest.raises(RunError, match="is no command: No closing quotation"):
        command_of("python 'system.py {output}")


@pytest.mark.parametrize("peer", sorted(file.parent.name for file in PEERS.glob("*/command")))
def test_the_commands_of_peers_ask_for_what_they_need(peer: str) -> None:
    command = command_of(str(PEERS / peer))
    assert all(place in command for place in ("{output}", "{start}", "{tolls}", "{vids_apart}", "{xways_apart}")), (
        command
    )
    assert (PEERS / peer / "README.md").exists()


def test_tolls_of_any_kind_become_both(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("5,1,0,30\n5,2,1,7\n")
    write_tolls(tmp_path / "mine.csv", tmp_path / "tolls")
    assert (tmp_path / "tolls" / "tolls.csv").read_text() == "5,1,0,30\n5,2,1,7\n"
    rows = pl.read_parquet(tmp_path / "tolls" / "tolls.parquet")
    assert rows.to_dict(as_series=False) == {"vid": [5, 5], "day": [1, 2], "xway": [0, 1], "tolls": [30, 7]}
    (tmp_path / "history" / "tolls.parquet").mkdir(parents=True)  # as `arterial linear-road history` makes it
    (tmp_path / "history" / "history.json").write_text("{}")
    rows.write_parquet(tmp_path / "history" / "tolls.parquet" / "from-0.parquet")
    write_tolls(tmp_path / "history", tmp_path / "of-history")
    assert (tmp_path / "of-history" / "tolls.csv").read_text() == "5,1,0,30\n5,2,1,7\n"
    write_tolls(None, tmp_path / "none")
    assert (tmp_path / "none" / "tolls.csv").read_text() == ""
