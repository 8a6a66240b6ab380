"""`arterial linear-road rate`: the largest number of expressways that a system serves rightly and in time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def rate(
    data: Path = typer.Option(..., help="A simulated data set; larger L are made by replicating its expressways."),
    out: Path = typer.Option(..., help="The folder for rating.json, the report page and the trials."),
    tolls: Path | None = typer.Option(None, help="TollHistory, a file or a history's folder."),
    segments: Path | None = typer.Option(None, help="SegmentHistory, likewise."),
    mode: str = typer.Option("window", help="window: a window in real time; official: all of the data in real time."),
    begin: int | None = typer.Option(
        None, "--from", help="First second of the window.", show_default="120 before its end"
    ),
    until: int | None = typer.Option(None, help="The second before which it ends.", show_default="the end of the data"),
    speed: float = typer.Option(
        1.0, min=0.0, help="How much faster than real time the clock runs; responses are in seconds of the wall clock."
    ),
    start: float = typer.Option(1.0, help="The first L to try."),
    highest: float = typer.Option(512.0, help="The largest L to try."),
    profile: str = typer.Option("spec", help="The semantics: spec, walmart or thesis2003."),
    dialect: str = typer.Option("paper", help="The layout of the output; an unknown name prints the list."),
    system: str | None = typer.Option(
        None,
        help="Rate another system: a command that reads the driver's lines on its standard input and writes its "
        "answers to the file {output}, or without that to its standard output; or a folder with such a command in a "
        "file 'command'; {start} is a file with the driver's start, from which Emit counts, {vids_apart} and "
        "{xways_apart} how far the ids of two replicas are apart, {tolls} a folder with tolls.csv and tolls.parquet, "
        "{ready} a file that the system makes when it has started, which the driver then waits for "
        "(docs/linear-road/judge.md).",
    ),
    through: str | None = typer.Option(
        None,
        help="Let the driver deliver by kafka://HOST:PORT/TOPIC (only Kafka), all of the data in real time, to a new "
        "topic of such a name for each trial; another system has its address in the place of {topic}.",
        show_default="files for Arterial, a pipe for another system",
    ),
    json_output: bool = typer.Option(False, "--json", help="Print the rating as JSON."),
) -> None:
    """Find the largest L at which a run passes the validator, trial after trial; an interrupted rating continues.

    L rises in steps of a half below 5, then in larger ones. In window mode the seconds before the window are run
    through as fast as possible.
    """
    from arterial.errors import ArterialError
    from arterial.linearroad.data.dataset import open_data
    from arterial.linearroad.formats.dialects import dialect as dialect_of
    from arterial.linearroad.rate.page import write_page
    from arterial.linearroad.rate.rate import rate as find_rating
    from arterial.linearroad.rate.systems import command_of
    from arterial.linearroad.rate.trial import Plan
    from arterial.linearroad.semantics.profiles import profile as profile_of

    profile_of(profile)
    dialect_of(dialect)
    if mode not in ("window", "official"):
        raise ArterialError(f"--mode must be window or official, got {mode!r}")
    opened = open_data(data)
    end = opened.last_second + 1 if until is None else until
    if mode == "official" and begin is not None:
        raise ArterialError("--from is for window mode: an official rating runs the whole data in real time")
    if not 0 < speed < float("inf"):
        raise ArterialError(f"--speed must be a number above 0, got {speed:g}")
    if speed != 1 and (system is not None or through is not None):
        raise ArterialError(
            "--speed is for Arterial reading files: other systems count Emit in seconds of the data, in real time"
        )
    if system is not None and begin:
        raise ArterialError(
            "another system gets all of the data in real time: leave out --from, and use --mode official"
        )
    if through is not None and not through.startswith("kafka://"):
        raise ArterialError(
            "--through: expected kafka://HOST:PORT/TOPIC: a rating goes through Kafka alone. A system that takes its "
            "input in another way is rated by --system, with a command that reads its standard input"
        )
    if through is not None and begin:
        raise ArterialError("--through: a rating without --from: all of the data goes through the topic")
    if through is not None and system is None and (tolls or segments):
        raise ArterialError(
            "--through: leave out --tolls and --segments: who reads a topic is not told which vehicles are replicas"
        )
    first = 0 if mode == "official" or system or through else max(0, end - 120) if begin is None else begin
    plan = Plan(
        opened.folder.absolute(),
        (out / "half").absolute(),
        float(opened.facts.get("xways", len(opened.xways))),
        tolls,
        segments,
        out,
        first,
        end,
        profile,
        dialect,
        None if system is None else command_of(system),
        (system or "arterial") + (" through Kafka" if through else ""),
        through,
        speed,
    )
    told = find_rating(plan, mode=mode, start=start, highest=highest, tell=_tell)
    page = out / "rating.html"
    write_page(told, page)
    if json_output:
        typer.echo(json.dumps(told, indent=2))
        return
    clock = "" if speed == 1 else f" at {speed:g} times real time"
    typer.echo(f"L = {told['rating']:g} ({mode} mode{clock}, seconds {first} to {end}); report: {page}")


def _tell(outcome: dict[str, Any]) -> None:
    from arterial.linearroad.rate.reasons import reasons

    verdict = "passes" if outcome["passed"] else "fails"
    worst = [times["worst"] for times in outcome.get("responses", {}).values() if times["answers"]]
    slowest = f", worst response {max(worst):.2f} s" if worst else ""
    typer.echo(f"L = {outcome['expressways']:g} {verdict}{slowest} ({outcome['made_of']})", err=True)
    for line in reasons(outcome):
        typer.echo(f"  {line}", err=True)
