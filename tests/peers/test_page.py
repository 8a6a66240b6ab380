"""docs/peers.md: its commands in order, in a folder with only what they use of a checkout, on a city of a minute."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.test_how_to import ROOT, run_page


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_page_on_peers(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is a peer, which `make setup` installs")
    checkout = tmp_path / "empty"
    for name in ("tools", "peers"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("target", "__pycache__"))
    (checkout / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "peers.md", checkout / "docs")

    def smaller(script: str) -> str:
        replaced = {
            "make peers\n": "",  # fetches Flink and Bytewax, which are not rated here
            "--seconds 120": "--seconds 60 --density 0.05",
            "peers rate": "peers rate --only duckdb --highest 1",
            "--mode official": "--mode official --highest 1",
        }
        for old, new in replaced.items():
            assert old in script, old
            script = script.replace(old, new)
        return script

    assert run_page("peers", tmp_path, smaller).count("(official mode, seconds 0 to 60)") == 2
    written = (checkout / "docs" / "peers.md").read_text()
    assert "| DuckDB, polling | **" in written
    assert "No rating is recorded here yet" not in written
    assert (checkout / "build" / "peers" / "peers.html").exists()
    assert (checkout / "rating" / "rating.html").exists()
