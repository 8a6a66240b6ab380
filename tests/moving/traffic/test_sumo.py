"""The SUMO source; without SUMO, its clear refusal."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from arterial.errors import DataError, MachineError
from arterial.moving.files.event_file import read_events
from arterial.moving.traffic.sumo import SumoSettings, write_events

SETTINGS = SumoSettings(vehicles=20, seconds=30, blocks=3)
has_sumo = pytest.mark.skipif(
    importlib.util.find_spec("sumo") is None,
    reason="eclipse-sumo is not installed; `make setup` installs it on Linux only",
)


@pytest.mark.thorough
@has_sumo
def test_vehicles_report_every_second(tmp_path: Path) -> None:
    out = tmp_path / "events.csv"
    assert write_events(out, SETTINGS) == len(out.read_text().splitlines()) > 100
    blocks = list(read_events(out))
    assert not any(block.rejects for block in blocks)
    assert sum(len(block.units()) for block in blocks) == 30
    again = tmp_path / "again.csv"
    write_events(again, SETTINGS)
    assert again.read_text() == out.read_text()


@has_sumo
def test_a_bad_network_is_refused(tmp_path: Path) -> None:
    (broken := tmp_path / "broken.net.xml").write_text("<net>")
    with pytest.raises(DataError, match="is not a road network"):
        write_events(tmp_path / "events.csv", SETTINGS, network=broken)
    with pytest.raises(DataError, match="no such file"):
        write_events(tmp_path / "events.csv", SETTINGS, network=tmp_path / "none.net.xml")


def test_without_sumo_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MachineError, match=r"pip install"):
        write_events(tmp_path / "events.csv", SETTINGS)
