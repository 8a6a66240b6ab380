"""A vehicle of Linear Road in the city: why it was answered as it was, from the data that its run reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arterial.engine.run.application import SETTINGS_FILE
from arterial.errors import RunError
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.semantics.profiles import profile
from arterial.linearroad.why.explain import charged, why
from arterial.storage.damage import read_json
from arterial.studio.subject import Run

CONSTANTS = ("basetoll", "basecredit", "ftmin")


def why_of_vehicle(run: Run, vid: int, time: int) -> dict[str, Any]:
    """Why a vehicle was answered as it was at a second, and its balance then, by the run's own data and rules."""
    settings = _settings(run)
    data = open_data(Path(settings["data"]), disorder=int(settings.get("disorder", 0)))
    rules = profile(settings["profile"], **{name: _number(settings.get(name)) for name in CONSTANTS})
    said = why(data, vid, time, rules, tolls=_path(settings.get("tolls")), segments=_path(settings.get("segments")))
    return {**said.as_data(), "balance": charged(data, vid, time, rules)}


def _settings(run: Run) -> dict[str, Any]:
    """What the run was started with, if its events can be read again."""
    said = run.checkpoint.parent / SETTINGS_FILE
    settings: dict[str, Any] = read_json(said) if said.exists() else {}
    if "data" not in settings or "profile" not in settings:
        raise RunError(f"{run.name}: expected a run of `arterial linear-road run`; only those know their data set")
    if not Path(settings["data"]).exists():
        raise RunError(
            f"{run.name}: its input ({settings['data']}) cannot be read again from here; Why needs the events in "
            "files. Start the studio where the run was started"
        )
    if settings.get("replicate", "1") != "1":
        raise RunError(f"{run.name}: its expressways are replicas, and Why reads the data set as it is in its files")
    return settings


def _path(text: object) -> Path | None:
    return None if text in (None, "None") else Path(str(text))


def _number(text: object) -> int | None:
    return None if text in (None, "None") else int(str(text))
