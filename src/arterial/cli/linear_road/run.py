"""`arterial linear-road run`: tolls, alerts and account queries for a data set or a live stream, on the engine."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import typer

from arterial.cli.progress import Bar


def run(
    data: str = typer.Option(
        ...,
        help="The events: a data set's folder, or any CSV or Parquet files; or lines as they arrive: "
        "tcp://HOST:PORT (connects there), - (standard input), or a named pipe; they end with a line #end, at --until, "
        "or, with ?eof=end behind the place, where the stream does.",
    ),
    out: Path = typer.Option(..., help="The folder for output.csv, rejects.csv and run.json."),
    tolls: Path | None = typer.Option(None, help="TollHistory: a history folder, or any CSV or Parquet file."),
    segments: Path | None = typer.Option(None, help="SegmentHistory, likewise."),
    profile: str = typer.Option("spec", help="The semantics: spec, walmart or thesis2003."),
    dialect: str = typer.Option("paper", help="The layout of the output; an unknown name prints the list."),
    speed: str = typer.Option("1", help="1 is real time, a factor is faster or slower, max does not wait."),
    begin: int = typer.Option(0, "--from", help="First second of the window; what is earlier runs without waiting."),
    until: int | None = typer.Option(None, help="The second before which to stop.", show_default="the end"),
    replicate: int = typer.Option(1, help="Repeat the expressways this many times, with disjoint vehicles and ids."),
    shards: int = typer.Option(0, help="How many shards.", show_default="the cores of Spark"),
    disorder: int = typer.Option(
        0, help="By how many seconds a line may be older than an earlier one (CSV not written by Arterial)."
    ),
    basetoll: int | None = typer.Option(
        None, help="Constant of profile thesis2003: what a toll is multiplied by; 2 by default."
    ),
    basecredit: int | None = typer.Option(
        None, help="Constant of profile thesis2003: the credit for leaving before an accident; 100 by default."
    ),
    ftmin: int | None = typer.Option(
        None, help="Constant of profile thesis2003: the day's charges from which tolls are halved; 1000 by default."
    ),
    force: bool = typer.Option(False, "--force", help="Remove what an earlier run left in the output folder."),
    json_output: bool = typer.Option(False, "--json", help="Print the figures of the run as JSON."),
) -> None:
    """Answer all reports and requests of a data set: tolls, accident alerts, balances, expenditures, travel times.

    Interrupt it as you like: the same command continues where it stopped, and nothing is lost or doubled. The
    sender of live input then sends again, from the second that the run names, or from any before.

    Exit codes: 0 finished, 1 failed, 3 stopped (the same command goes on), 130 stopped by Ctrl-C.
    """
    from arterial.cli.outcome import ending, leave, say_finished, stop_on_signals
    from arterial.connectors.pace import parse_speed
    from arterial.connectors.rejects import set_aside
    from arterial.engine.run.status import RUN_FILE
    from arterial.linearroad.application.live.input import is_live
    from arterial.linearroad.application.run import LinearRoadRun, RunOptions, clear, finished
    from arterial.linearroad.data.clean_set import REJECTS_FILE

    factor = parse_speed(speed)
    if force:
        clear(out)
    options = RunOptions(
        data if is_live(data) else Path(data),
        out,
        tolls,
        segments,
        profile,
        dialect,
        factor,
        begin,
        until,
        replicate,
        shards,
        disorder,
        basetoll,
        basecredit,
        ftmin,
    )
    if (status := finished(options)) is not None:
        if json_output:
            typer.echo(json.dumps({"already_finished": True, **json.loads((out / RUN_FILE).read_text())}, indent=2))
        else:
            say_finished(status, as_json=False)
        return
    with stop_on_signals() as asked:
        running = LinearRoadRun(options)
        for note in running.notes:
            typer.echo(f"note: {note}", err=True)
        done = sum(running.engine.status.tuples_in.values())
        with Bar("running", total=running.input.events, unit="events", quiet=json_output, done=done) as bar:
            while not running.wait(0.5):
                bar.to(sum(running.engine.status.tuples_in.values()), running.engine.statistics.event_time)
                if asked:
                    running.stop()
                    break
            bar.to(sum(running.engine.status.tuples_in.values()), running.engine.statistics.event_time)
    if not running.ended:
        typer.echo(ending(running.engine.status, resumes=True), err=True)
        leave(running.engine.status, interrupted=signal.SIGINT in asked)
    figures = running.finish()
    if json_output:
        typer.echo(json.dumps(figures, indent=2))
        return
    typer.echo(
        f"{figures['reports']:,} reports of {figures['expressways']} expressways in {figures['seconds']:.1f} s: "
        f"{figures['reports_per_second']:,} reports a second"
    )
    for name, times in figures["responses"].items():
        if times["answers"]:
            typer.echo(
                f"  {name:13} {times['answers']:>12,}   response p50 {times['p50']:.3f} s   p99 {times['p99']:.3f} s   "
                f"worst {times['worst']:.3f} s"
            )
    if figures["rejected"]:
        typer.echo(f"  {set_aside(sum(figures['rejected'].values()), out / REJECTS_FILE)}")
    typer.echo(f"answers: {out}/output*.csv")
