"""What a run takes its events from: a data set on disk, or one that is made from any files."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from arterial.connectors.files.fingerprint import Fingerprint, fingerprint, what_changed
from arterial.connectors.pace import Pace
from arterial.connectors.rejects import SEVERAL_FILES, Rejects
from arterial.connectors.source import Source
from arterial.engine.run.run import Run
from arterial.errors import ArterialError, DataError
from arterial.linearroad.application.feed import ReportFeed, RequestFeed, reports_between
from arterial.linearroad.data.convert import convert
from arterial.linearroad.data.dataset import Data, open_data
from arterial.linearroad.data.event_sources import is_data_set
from arterial.linearroad.data.replicate import Replication
from arterial.storage.damage import read_json
from arterial.storage.place import put_in_place

INPUT_FILE = "input.json"
"""What the files of a data set looked like when the run began; they are read where they are."""


class Input(Protocol):
    """What a run takes its events from."""

    replication: Replication
    notes: list[str]
    """What a user should know about it."""

    @property
    def events(self) -> int | None:
        """How many events there are, if that is known."""

    @property
    def error(self) -> ArterialError | None:
        """What ended it before its end."""

    def feeds(self, pace: Pace, warm_up: int) -> dict[str, Source]:
        """What feeds the sources of the network."""

    def start(self, run: Run, warm_up: int) -> None:
        """The run has been started."""

    def stop(self) -> None:
        """Take no more."""

    def close(self) -> None:
        """The run came to its end."""

    def figures(self) -> dict[str, Any]:
        """What a run's figures say about its input."""


class StoredInput:
    """A data set, or a clean one made from what others wrote."""

    error = None

    def __init__(
        self,
        path: Path,
        *,
        work: Path,
        rejects: Path,
        begin: int,
        until: int | None,
        times: int,
        disorder: int,
        start_file: Path | None = None,
    ) -> None:
        if start_file is not None:
            raise ArterialError("--start-file is for live input: what lies in files is due by the clock of the run")
        self.notes: list[str] = []
        self.data = _prepared(path, work / "data", rejects, disorder)
        self.is_ours = is_data_set(path)
        if self.is_ours:
            check_unchanged(self.data, work / INPUT_FILE)
        self.begin, self.until = begin, self.data.last_second + 1 if until is None else until
        if not 0 <= begin <= self.until:
            raise ArterialError(f"--from {begin} must lie between 0 and the end of the run at {self.until}")
        self.replication = Replication.of(self.data, times)
        self._counts = (work / "counts.npy").absolute()

    @property
    def events(self) -> int:
        """How many events there are."""
        return self.data.events * self.replication.times

    def feeds(self, pace: Pace, warm_up: int) -> dict[str, Source]:
        """Two feeds that advance together."""
        feed: dict[str, Any] = {
            "folder": self.data.folder.absolute(),
            "pace": pace,
            "until": self.until,
            "replication": self.replication,
            "counts": self._counts,
            "warm_up": warm_up,
        }
        return {"reports": ReportFeed(**feed), "requests": RequestFeed(**feed)}

    def start(self, run: Run, warm_up: int) -> None:
        """All of it is there already."""

    def stop(self) -> None:
        """There is nothing to stop."""

    def close(self) -> None:
        """It stays where it is."""

    def figures(self) -> dict[str, Any]:
        """How far it goes, and what cleaning found."""
        cleaning = self.data.cleaning
        return {
            "until": self.until,
            "expressways": len(self.data.xways) * self.replication.times,
            "window_reports": self.replication.times * reports_between(self._counts, self.begin, self.until),
            "rejected": cleaning.rejected if cleaning and not self.is_ours else {},
        }


def check_unchanged(data: Data, kept: Path) -> None:
    """Raise if a data set is not what it was when the run began."""
    files = {str(path.absolute()) for path in data.parquet_files.values()}
    if not kept.exists():
        put_in_place(kept, json.dumps({name: asdict(fingerprint(Path(name), most=0)) for name in sorted(files)}))
        return
    before = read_json(kept)
    for name in sorted({*before, *files}):
        if difference := what_changed(Path(name), Fingerprint(**before[name])) if name in before else "was added":
            raise DataError(
                f"{name}: changed since the run began: it {difference}. Restore it, or begin again with another --out"
            )


def _prepared(path: Path, folder: Path, rejects: Path, disorder: int) -> Data:
    if is_data_set(path):
        Rejects(rejects, SEVERAL_FILES, resume_at=0)
        return open_data(path)
    if not folder.exists():
        convert(path, folder, disorder=disorder, rejects=rejects, force=True)
        if not rejects.exists():
            Rejects(rejects, SEVERAL_FILES, resume_at=0)
    return Data(folder, path)
