"""The search for the rating: trial after trial, each remembered, so that an interruption costs one trial at most."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from arterial.errors import ArterialError, RunError
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.data.event_files import (
    CITY_FILE,
    PARQUET_FOLDER,
    parquet_name,
    write_city,
    write_events_parquet,
    writing,
)
from arterial.linearroad.formats.events import EVENT_SCHEMA, POSITION_REPORT
from arterial.linearroad.rate.ladder import next_rung, rating, rungs
from arterial.linearroad.rate.meter import machine
from arterial.linearroad.rate.trial import Plan, run_trial
from arterial.storage.place import put_in_place

RATING_FILE = "rating.json"

Outcome = dict[str, Any]


def rate(
    plan: Plan, *, mode: str, start: float, highest: float, tell: Callable[[Outcome], None] = lambda outcome: None
) -> dict[str, Any]:
    """Find the largest L that passes, and write everything about it to `rating.json` after every trial."""
    path = plan.out / RATING_FILE
    settings = _settings(plan, mode)
    trials = _remembered(path, settings)
    ladder = rungs(highest)
    if not (plan.half / CITY_FILE).exists():
        write_half(Data(plan.data, plan.data), plan.half)
    while (rung := next_rung(ladder, {t["expressways"]: t["passed"] for t in trials}, start)) is not None:
        outcome = run_trial(plan, rung)
        trials.append(outcome)
        _remember(path, settings, trials)
        tell(outcome)
    return _remember(path, settings, trials)


def write_half(data: Data, folder: Path) -> None:
    """Half an expressway: the vehicles of the first one that drive east only, with their requests."""
    events = pl.read_parquet(next(iter(data.parquet_files.values())))
    reports = events.filter(pl.col("type") == POSITION_REPORT)
    west = reports.filter(pl.col("dir") != 0)["vid"].unique()
    east = reports.filter(pl.col("dir") == 0)["vid"].unique()
    kept = events.filter(pl.col("vid").is_in(east.implode()) & ~pl.col("vid").is_in(west.implode()))
    with writing(folder):
        (folder / PARQUET_FOLDER).mkdir(parents=True, exist_ok=True)
    table = kept.select(EVENT_SCHEMA.names).to_arrow().cast(EVENT_SCHEMA)
    write_events_parquet(folder / PARQUET_FOLDER / parquet_name(data.xways[0]), [table])
    write_city(folder, {**data.facts, "xways": 0.5, "half_of": str(data.path)})


def _settings(plan: Plan, mode: str) -> dict[str, Any]:
    return {
        "mode": mode,
        "window": [plan.begin, plan.until],
        "data": str(plan.data),
        "profile": plan.profile,
        "dialect": plan.dialect,
        "system": plan.name,
        "speed": plan.speed,
    }


def _remembered(path: Path, settings: dict[str, Any]) -> list[Outcome]:
    if not path.exists():
        return []
    try:
        before = json.loads(path.read_text())
    except ValueError as fault:
        raise ArterialError(f"{path}: cannot be read: {fault}; remove it to start over") from fault
    known = {"speed": 1.0, **before["settings"]}  # which ratings made before there were speeds do not say
    if changed := [name for name, value in settings.items() if known.get(name) != value]:
        raise RunError(f"{path}: a rating with another {', '.join(changed)} is there; choose another --out")
    trials: list[Outcome] = before["trials"]
    return trials


def _remember(path: Path, settings: dict[str, Any], trials: list[Outcome]) -> dict[str, Any]:
    told = {
        "rating": rating({trial["expressways"]: trial["passed"] for trial in trials}),
        "settings": settings,
        "machine": machine(),
        "trials": trials,
    }
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        put_in_place(path, json.dumps(told, indent=2) + "\n")
    return told
