"""`arterial moving run`: a file of events in, the changes of all answers out."""

from __future__ import annotations

import json
import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.cli.ops.watch import LINEAGE, LOG, LOG_FORMAT, LOG_LEVEL, METRICS
from arterial.cli.parts.cluster import DRIVER_HOST, ENVIRONMENT, MASTER, SPARK_CONF, cluster_of

if TYPE_CHECKING:
    from arterial.engine.spark.cluster import Cluster
    from arterial.moving.application.network import QueryOptions
    from arterial.moving.application.run import JobSummary, RunOptions
    from arterial.moving.files.run import Summary


def run(
    events: Path = typer.Argument(..., help="A file of events in time order, CSV or .parquet."),
    out: Path = typer.Option(..., "--out", help="Where to write the updates: t,qid,+|-,object."),
    checkpoint: Path | None = typer.Option(
        None,
        "--checkpoint",
        help="Run on Spark and keep position and state here: the same command continues after any interruption.",
        show_default="run in this process",
    ),
    speed: str = typer.Option(
        "max", "--speed", help="With --checkpoint: 1 is real time, t in seconds; a factor is faster; max does not wait."
    ),
    train_size: int = typer.Option(
        1_000_000, "--train-size", min=1, help="With --checkpoint: about how many events make a train."
    ),
    shards: int = typer.Option(
        1,
        "--shards",
        min=1,
        help="With --checkpoint: spread the queries over so many shards; each gets all objects. Worth it from some "
        "ten thousand queries on, with a core for each.",
    ),
    timeout: float | None = typer.Option(
        None, "--timeout", help="Disconnect an object that has not reported for this long.", show_default="never"
    ),
    cache: float = typer.Option(
        100.0,
        "--cache",
        min=0,
        max=100,
        help="Size of the anticipation cache, in per cent of the conservative one, with which answers are exact.",
    ),
    longest_step: float | None = typer.Option(
        None,
        "--longest-step",
        min=0,
        help="The longest way of an object between two reports, for caches below 100.",
        show_default="measured",
    ),
    lonlat: bool = typer.Option(
        False, "--lonlat", help="x, y are degrees of longitude and latitude; xdist, ydist and distances are metres."
    ),
    keep: str | None = typer.Option(
        None,
        "--keep",
        help="With --checkpoint: keep reports and updates for this long ('10 minutes'), and the queries, for arterial "
        "attach and the city of arterial studio.",
        show_default="not kept",
    ),
    rejects: Path | None = typer.Option(
        None, "--rejects", help="Where to put lines that are no events.", show_default="OUT.rejects.csv"
    ),
    master: str | None = MASTER,
    driver_host: str | None = DRIVER_HOST,
    environment: Path | None = ENVIRONMENT,
    spark_conf: list[str] = SPARK_CONF,
    durable: bool = typer.Option(
        False, "--durable", help="With --checkpoint: let all that is written survive a power cut; steps are slower."
    ),
    force: bool = typer.Option(
        False, "--force", help="With --checkpoint: start over; remove what an earlier run left there."
    ),
    json_output: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
    metrics: str | None = METRICS,
    log: str | None = LOG,
    log_format: str = LOG_FORMAT,
    log_level: str = LOG_LEVEL,
    lineage: str | None = LINEAGE,
) -> None:
    """Run range and nearest-neighbour queries over moving objects, and write every change of their answers.

    An event is one of: t,object,id,x,y · t,range,qid,x1,y1,x2,y2 · t,movingrange,qid,focal,xdist,ydist ·
    t,knn,qid,k,x,y · t,movingknn,qid,k,focal · t,drop,qid.

    With --checkpoint it is a streaming job of Spark, which survives even a kill -9: repeat the command. Without, the
    same kernels run in this process. The updates are the same, byte for byte.

    Exit codes: 0 finished, 1 failed, 3 stopped (the same command goes on), 130 stopped by Ctrl-C.
    """
    from arterial.cli.parts.outcome import say_finished
    from arterial.connectors.pace import parse_speed
    from arterial.connectors.rejects import set_aside
    from arterial.engine.run.watch.watchers import Watch
    from arterial.errors import DataError
    from arterial.moving.application.network import QueryOptions
    from arterial.moving.application.run import RunOptions, clear, finished, finished_status
    from arterial.moving.queries.space import Space
    from arterial.network.duration import check_duration

    if timeout is not None and not timeout > 0:
        raise DataError(f"--timeout must be more than 0, not {timeout:g}. Leave it out to keep objects for ever.")
    if not events.is_file():
        raise DataError(f"{events}: there is no such file. Name a file of events, one a line.")
    if out.exists() and out.samefile(events):
        raise DataError(f"--out {out} is the file of events itself; name another file for the updates.")
    rejects = rejects or out.with_name(out.name + ".rejects.csv")
    if keep is not None:
        check_duration(keep, "--keep")
    queries = QueryOptions(Space.LONLAT if lonlat else Space.PLANE, timeout, cache, longest_step)
    watch = Watch(metrics, log, log_format, log_level, lineage)
    cluster = cluster_of(master, driver_host, environment, spark_conf)
    summary: Summary
    if shards > 1 and (timeout is not None or cache < 100):
        raise DataError("--timeout and --cache need all queries in one shard: leave out --shards.")
    if checkpoint is not None:
        options = RunOptions(
            events, out, checkpoint, rejects, queries, parse_speed(speed), train_size, shards, durable, watch, keep
        )
        if force:
            clear(options)
        before = finished(options)
        if before is not None and not json_output:
            say_finished(finished_status(options), as_json=False)
        summary = job = before or _on_spark(options, cluster, json_output)
    elif shards > 1:
        raise DataError("--shards is for a run on Spark: give a folder as --checkpoint too, or leave it out.")
    elif not cluster.is_default:
        raise DataError("--master is for a run on Spark: give a folder as --checkpoint too, or leave it out.")
    elif keep is not None:
        raise DataError("--keep is for a run on Spark: give a folder as --checkpoint too, or leave it out.")
    elif durable:
        raise DataError("--durable is for a run that can go on: give a folder as --checkpoint too, or leave it out.")
    elif parse_speed(speed) != parse_speed("max"):
        raise DataError("--speed paces a run on Spark: give a folder as --checkpoint too, or leave it out.")
    elif watch != Watch():
        raise DataError("--metrics, --log and --lineage are for a run on Spark: give a folder as --checkpoint too.")
    else:
        summary = _in_this_process(events, out, rejects, queries, json_output)
    if json_output:
        typer.echo(json.dumps(asdict(summary), indent=2))
        return
    typer.echo(
        f"{summary.reports:,} reports and {summary.queries:,} query events in {summary.time_units:,} time units: "
        f"{summary.updates:,} updates in {out}, {summary.seconds:.1f} s"
    )
    if checkpoint is not None:
        typer.echo(f"delay p50 {job.delay_p50:.2f} s, p99 {job.delay_p99:.2f} s, worst {job.delay_worst:.2f} s")
    if cache < 100:
        typer.echo(f"accuracy with a cache of {cache:g} %: {summary.accuracy:.4f}")
    if summary.rejects:
        typer.echo(set_aside(summary.rejects, rejects), err=True)


def _in_this_process(events: Path, out: Path, rejects: Path, queries: QueryOptions, quiet: bool) -> Summary:
    from arterial.cli.parts.progress import Bar
    from arterial.moving.files.run import run_file

    with Bar("moving", total=events.stat().st_size, unit="bytes", quiet=quiet) as bar:
        return run_file(
            events,
            out,
            rejects=rejects,
            space=queries.space,
            timeout=queries.timeout,
            cache=queries.cache,
            longest_step=queries.longest_step,
            progress=bar.advance,
        )


def _on_spark(options: RunOptions, cluster: Cluster, quiet: bool) -> JobSummary:
    from arterial.cli.parts.exit_codes import INTERRUPTED, RESUMABLE
    from arterial.cli.parts.outcome import ending, stop_on_signals
    from arterial.cli.parts.progress import Bar
    from arterial.engine.spark.session import spark_session, stop_spark
    from arterial.moving.application.prepare import OBJECTS
    from arterial.moving.application.run import MovingRun

    with stop_on_signals() as asked:
        with Bar("reading", total=options.events.stat().st_size, unit="bytes", quiet=quiet) as bar:
            session = None if cluster.is_default else spark_session("arterial moving run", master=cluster)
            running = MovingRun(options, spark=session, progress=bar.advance)
        if running.resumed and not quiet:
            typer.echo("note: continued from its checkpoint", err=True)
        for notice in running.engine.notices:
            typer.echo(f"note: {notice}", err=True)
        try:
            done = running.engine.status.tuples_in[OBJECTS]
            with Bar("moving", total=running.events.reports, unit="reports", quiet=quiet, done=done) as bar:
                while not running.wait(0.2):
                    bar.to(running.engine.status.tuples_in[OBJECTS], running.event_time)
                    if asked:
                        running.stop()
                        break
                bar.to(running.engine.status.tuples_in[OBJECTS], running.event_time)
            if running.ended:
                return running.finish()
        finally:
            stop_spark(spark_session("moving"))
    status = running.engine.status
    typer.echo(ending(status, resumes=True), err=True)
    raise typer.Exit(INTERRUPTED if signal.SIGINT in asked else RESUMABLE)
