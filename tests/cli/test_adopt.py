"""`arterial adopt`: what it asks of a run, and what it does when the network changes meanwhile."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from arterial import Network
from arterial.cli.main import app
from arterial.engine.run.versions import requests, version_files
from arterial.engine.run.versions.requests import Answer
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from tests.engine.attach.asked import city, finished

QUERY = "SELECT seg, speed FROM kept WHERE speed < 50"


class Versions:
    """A run whose network another command changed between the look at it and the first request."""

    refuses = False

    def __init__(self) -> None:
        self.asked: list[tuple[NetworkValue, int]] = []
        other = Network("city")
        other.source("reports", {"time": int, "seg": "int16", "speed": int}).connection_point("kept", 60).output("more")
        self.networks = [city().value, other.value]

    def files(self, folder: Path) -> SimpleNamespace:
        last = min(len(self.asked) + 1, 2)
        return SimpleNamespace(last=last, version=lambda number: SimpleNamespace(network=self.networks[number - 1]))

    def ask(self, checkpoint: Path, what: str, network: NetworkValue, *more: Any) -> Answer:
        self.asked.append((network, more[-1]))
        if self.refuses:
            return Answer(False, "no")
        return Answer(True, "accepted as version 3", 3) if more[-1] == 2 else Answer(False, "by now", 2)


def adopt(folder: Path, query: str = QUERY) -> Result:
    words = ["adopt", str(folder), "kept", query, "--output", "below", "--sink", f"{folder}/below/"]
    return CliRunner().invoke(app, words)


def test_it_asks_again_when_the_network_has_changed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished(tmp_path)
    versions = Versions()
    monkeypatch.setattr(version_files, "VersionFiles", versions.files)
    monkeypatch.setattr(requests, "ask", versions.ask)
    done = adopt(tmp_path)
    assert (done.exit_code, done.stdout) == (0, "accepted as version 3\n")
    (first, one), (second, two) = versions.asked
    assert (one, two) == (1, 2)
    assert {"alerts", "below"} <= {box.name for box in first.boxes}
    assert {"more", "below"} <= {box.name for box in second.boxes}


def test_a_refusal_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished(tmp_path)
    versions = Versions()
    monkeypatch.setattr(version_files, "VersionFiles", versions.files)
    versions.refuses = True
    monkeypatch.setattr(requests, "ask", versions.ask)
    done = adopt(tmp_path)
    assert done.exit_code == 1
    assert done.stderr == "refused: no\n"
    assert len(versions.asked) == 1


def test_a_local_run_and_no_query(tmp_path: Path) -> None:
    finished(tmp_path)
    for query, said in ((QUERY, "a local run keeps no versions"), (" ", "the query is empty")):
        with pytest.raises(RunError, match=said):
            raise adopt(tmp_path, query).exception or AssertionError
