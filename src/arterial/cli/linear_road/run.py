"""`arterial linear-road run`: tolls, alerts and account queries for a data set or a live stream, on the engine."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arterial.cli.ops.watch import LINEAGE, LOG, LOG_FORMAT, LOG_LEVEL, METRICS
from arterial.cli.parts.cluster import DRIVER_HOST, ENVIRONMENT, MASTER, SPARK_CONF, cluster_of
from arterial.cli.parts.progress import Bar

if TYPE_CHECKING:
    from arterial.linearroad.application.run import MakeNetwork


def run(
    data: str = typer.Option(
        ...,
        help="The events: a data set's folder, or any CSV or Parquet files; or lines as they arrive: "
        "tcp://HOST:PORT (connects there), kafka://HOST:PORT/TOPIC, - (standard input), or a named pipe; they end with "
        "a line #end, at --until, or, with ?eof=end behind the place, where the stream does.",
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
    master: str | None = MASTER,
    driver_host: str | None = DRIVER_HOST,
    environment: Path | None = ENVIRONMENT,
    spark_conf: list[str] = SPARK_CONF,
    durable: bool = typer.Option(
        False, "--durable", help="Let all that is written survive a power cut, at the price of slower steps."
    ),
    keep: str | None = typer.Option(
        None,
        help="Keep reports, notices and alerts for this long ('1 hour'), for queries by arterial attach OUT on "
        "kept_reports, kept_notices and kept_alerts.",
        show_default="nothing",
    ),
    shed: bool = typer.Option(
        False,
        "--shed/--no-shed",
        help="Under overload, leave out requests about the past, so that others are in time.",
    ),
    network: str | None = typer.Option(
        None,
        help="A network of your own instead of ours, FILE.py:FUNCTION; it is called with vids_apart and xways_apart. "
        "--tolls and --segments are then the files of its relations of these names.",
        show_default="ours",
    ),
    start_file: Path | None = typer.Option(
        None,
        help="Live input: the file in which its sender says when second 0 was due (drive --start-file): the clock of "
        "Emit.",
        show_default="the first line is due when it comes",
    ),
    warm_up: int | None = typer.Option(
        None,
        min=0,
        help="With a clock: so many empty steps before it starts. Java then has compiled its code.",
        show_default="12",
    ),
    force: bool = typer.Option(False, "--force", help="Remove what an earlier run left in the output folder."),
    json_output: bool = typer.Option(False, "--json", help="Print the figures of the run as JSON."),
    metrics: str | None = METRICS,
    log: str | None = LOG,
    log_format: str = LOG_FORMAT,
    log_level: str = LOG_LEVEL,
    lineage: str | None = LINEAGE,
) -> None:
    """Answer all reports and requests of a data set: tolls, accident alerts, balances, expenditures, travel times.

    Interrupt it as you like: the same command continues where it stopped, and nothing is lost or doubled. The
    sender of live input then sends again, from the second that the run names, or from any before.

    Exit codes: 0 finished, 1 failed, 3 stopped (the same command goes on), 130 stopped by Ctrl-C.
    """
    from arterial.cli.parts.outcome import ending, leave, say_finished, stop_on_signals
    from arterial.connectors.pace import parse_speed
    from arterial.engine.run.figures.status import RUN_FILE
    from arterial.engine.run.watch.watchers import Watch
    from arterial.engine.spark.session import spark_session
    from arterial.linearroad.application.live.input import is_live
    from arterial.linearroad.application.run import LinearRoadRun, RunOptions, clear, finished

    factor = parse_speed(speed)
    if network is not None:
        constants = {"--basetoll": basetoll, "--basecredit": basecredit, "--ftmin": ftmin, "--keep": keep}
        _refuse_unused(
            [*(["--profile"] if profile != "spec" else []), *(n for n, v in constants.items() if v is not None)]
        )
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
        keep,
        shed,
        durable,
        Watch(metrics, log, log_format, log_level, lineage),
        network,
        start_file,
        warm_up,
    )
    if (status := finished(options)) is not None:
        if json_output:
            typer.echo(json.dumps({"already_finished": True, **json.loads((out / RUN_FILE).read_text())}, indent=2))
        else:
            say_finished(status, as_json=False)
        return
    cluster = cluster_of(master, driver_host, environment, spark_conf)
    with stop_on_signals() as asked:
        # On one machine Spark is started when it is needed, after the input is read.
        session = None if cluster.is_default else spark_session("arterial linear-road run", master=cluster)
        running = LinearRoadRun(options, network=_maker(network), spark=session)
        for note in running.notes:
            typer.echo(f"note: {note}", err=True)
        with Bar("running", total=running.input.events, unit="events", quiet=json_output, done=running.events) as bar:
            while not running.wait(0.5):
                bar.to(running.events, running.engine.statistics.event_time)
                if asked:
                    running.stop()
                    break
            bar.to(running.events, running.engine.statistics.event_time)
    if not running.ended:
        typer.echo(ending(running.engine.status, resumes=True), err=True)
        leave(running.engine.status, interrupted=signal.SIGINT in asked)
    figures = running.finish()
    if json_output:
        typer.echo(json.dumps(figures, indent=2))
    else:
        _say(figures, out, shed=shed)


def _say(figures: dict[str, Any], out: Path, *, shed: bool) -> None:
    """Print how the run went."""
    from arterial.connectors.rejects import set_aside
    from arterial.linearroad.data.clean_set import REJECTS_FILE

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
    if shed:
        worth = ", ".join(f"{name} {one:.2f}" for name, one in figures["utility"].items() if name != "total")
        typer.echo(f"  utility {figures['utility']['total']:.2f} ({worth})")
        for arc, number in figures["left_out"].items():
            typer.echo(f"  left out: {number:,} tuples on {arc}")
    if figures["rejected"]:
        typer.echo(f"  {set_aside(sum(figures['rejected'].values()), out / REJECTS_FILE)}")
    typer.echo(f"answers: {out}/output*.csv")


def _refuse_unused(options: list[str]) -> None:
    """Options that change our network have no effect on another."""
    from arterial.errors import ArterialError

    if options:
        raise ArterialError(
            f"--network: a network of your own answers by its own rules: leave out {', '.join(options)}"
        )


def _maker(place: str | None) -> MakeNetwork | None:
    """What makes the network of a user's own."""
    if place is None:
        return None
    from arterial.cli.parts.network import load_network

    return lambda vids, xways: load_network(place, vids_apart=vids, xways_apart=xways)
