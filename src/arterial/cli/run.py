"""`arterial run`: run a network over files, and watch it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arterial.cli.ops.command_file import keep_command
from arterial.cli.ops.watch import LINEAGE, LOG, LOG_FORMAT, LOG_LEVEL, METRICS
from arterial.cli.parts.cluster import DRIVER_HOST, ENVIRONMENT, MASTER, SPARK_CONF, cluster_of
from arterial.cli.parts.network import NETWORK_HELP, load_network
from arterial.errors import RunError, near

if TYPE_CHECKING:
    from arterial.connectors.sink import Sink
    from arterial.connectors.source import Source
    from arterial.engine.run.life import Run
    from arterial.engine.run.settings import Settings
    from arterial.network.network import NetworkValue


def run(
    context: typer.Context,
    network: str = typer.Argument(help=NETWORK_HELP),
    source: list[str] = typer.Option(
        [],
        "--source",
        "-s",
        help="NAME=PATH or NAME=URI: what a source reads: a file of CSV, JSON lines, Parquet or Arrow, a folder, or a "
        "pattern such as 'data/*.csv'. NAME=PATH?follow reads on as it grows. Lines as they arrive: - (standard "
        "input), tcp://HOST:PORT (connects there), tcp+listen://HOST:PORT (listens). For a relation also sqlite:///… "
        "and postgresql://…. Repeatable.",
    ),
    sink: list[str] = typer.Option(
        [],
        "--sink",
        help="NAME=URI: where an output goes instead of --out: a file, a folder, - for standard output, sqlite:///…, "
        "postgresql://…, https://… (docs/sinks.md). Repeatable.",
    ),
    out: Path = typer.Option(
        Path("out"), "--out", "-o", help="The folder for the outputs, each in a folder of its name."
    ),
    format: str = typer.Option("parquet", "--format", "-f", help="How outputs are written: parquet, csv or jsonl."),
    merge: bool = typer.Option(False, "--merge", help="At the end, also put each output into one file."),
    local: bool = typer.Option(
        False,
        "--local",
        help="Run in this process, without Spark: starts in a second or two and writes the same outputs. It keeps no "
        "checkpoint: it cannot go on after a stop, and begins from the start each time.",
    ),
    checkpoint: Path | None = typer.Option(
        None,
        "--checkpoint",
        "-c",
        help="The folder in which the run keeps its position and state.",
        show_default="OUT/checkpoint",
    ),
    speed: str = typer.Option(
        "max", "--speed", help="How fast tuples are read: 1 is real time, 10 ten times faster, max does not wait."
    ),
    timezone: str | None = typer.Option(
        None, "--timezone", help="Where times without a zone are from, as in Europe/Berlin.", show_default="UTC"
    ),
    time_unit: str | None = typer.Option(
        None, "--time-unit", help="What numbers of time count: s, ms, us or ns.", show_default="recognised"
    ),
    until: str | None = typer.Option(
        None, "--until", help="The end: tuples of this time and later are left out. As in the time column."
    ),
    shards: int = typer.Option(
        0,
        "--shards",
        help="How many shards; 0: as many as there are cores, or as the run has that goes on. Another number than that "
        "regroups its state first.",
    ),
    train_size: int = typer.Option(0, "--train-size", help="About so many tuples make a train.", show_default="500000"),
    schedule: str = typer.Option(
        "trains",
        "--schedule",
        help="How steps are scheduled by the outputs' graphs: trains (how long trains are), state or feedback (also "
        "which branches wait when not all can be in time), off. --train-size is then the longest train.",
    ),
    shed: bool = typer.Option(
        False, "--shed/--no-shed", help="Leave tuples out when there is more work than time, those of least utility."
    ),
    overflow: bool = typer.Option(
        False,
        "--overflow",
        help="With --shed: lose nothing. What is left out is kept, and settled when the load has fallen; before "
        "windows and joins tuples wait in a queue instead, and their answers come late, in the outputs themselves.",
    ),
    headroom: float = typer.Option(
        0.8, "--headroom", help="The share of the machine that may be used in steady state, from 0 to 1."
    ),
    interval: float = typer.Option(0.0, "--interval", help="At least so many seconds from one train to the next."),
    set_aside: bool = typer.Option(
        False, "--set-aside", help="Set aside the tuples that a box fails on, and go on; otherwise the run stops there."
    ),
    optimise: bool = typer.Option(
        False,
        "--optimise",
        help="Change the network while it runs, where that makes it cheaper; the outputs stay the same. arterial "
        "explain DIR --why says each change and why.",
    ),
    master: str | None = MASTER,
    driver_host: str | None = DRIVER_HOST,
    environment: Path | None = ENVIRONMENT,
    spark_conf: list[str] = SPARK_CONF,
    durable: bool = typer.Option(
        False, "--durable", help="Let all that is written survive a power cut, at the price of slower steps."
    ),
    force: bool = typer.Option(
        False, "--force", help="Start over: remove the checkpoint and the outputs that an earlier run left."
    ),
    replace: bool = typer.Option(
        False,
        "--replace",
        help="Go on from the checkpoint with this network where another one stopped: boxes of the same name keep their "
        "state. What cannot be is refused.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print statistics as lines of JSON, one a second."),
    metrics: str | None = METRICS,
    log: str | None = LOG,
    log_format: str = LOG_FORMAT,
    log_level: str = LOG_LEVEL,
    lineage: str | None = LINEAGE,
) -> None:
    """Run a network over files until they end, or until Ctrl-C; the same command goes on where it stopped.

    Exit codes: 0 finished, 1 failed, 3 stopped (the same command goes on), 130 stopped by Ctrl-C.

    Example: arterial run examples/speeding.py:net --source reports=reports.parquet --out alerts
    """
    from arterial.engine.run.checkpoint.folder import check_path
    from arterial.engine.spark.session import begin_spark, spark_session, stop_spark
    from arterial.storage.remote import path_of

    out, checkpoint = path_of(out), checkpoint and path_of(checkpoint)
    if not local:
        check_path(checkpoint or out / "checkpoint")
    cluster = cluster_of(master, driver_host, environment, spark_conf)
    if not local and not (checkpoint or out / "checkpoint").exists():  # it may hold a run that is finished
        begin_spark(cluster)
    from arterial.causes.local_record import write_record
    from arterial.cli.parts.outcome import say_finished, see_through
    from arterial.connectors.pace import MAX, parse_speed
    from arterial.connectors.sinks.files.parts import FileSink
    from arterial.engine.host.failures import FAIL, SET_ASIDE
    from arterial.engine.run.checkpoint.finished import finished, start_over
    from arterial.engine.run.run import run as start
    from arterial.engine.run.settings import TRAIN_SIZE, Settings
    from arterial.engine.run.watch.watchers import Watch

    value = load_network(network)
    pace = parse_speed(speed)
    paced = None if pace == MAX else pace
    sources = sources_of(value, source, speed=paced, timezone=timezone, time_unit=time_unit, until=until)
    position = out / "local" if local else checkpoint or out / "checkpoint"
    named = sinks_from(value, sink, position, as_json=as_json)
    usual: dict[str, Sink] = {
        box.name: FileSink(out / box.name, format, merge)
        for box in value.boxes
        if not box.outputs and box.name not in named
    }
    if taken := [name for name in usual if name in ("checkpoint", "local")]:
        raise RunError(
            f"output {taken[0]!r}: {out / taken[0]} is where the run keeps its own files; name its place with "
            f"--sink {taken[0]}=PATH"
        )
    sinks = {**usual, **named}
    settings = Settings(
        shards,
        train_size or TRAIN_SIZE,
        SET_ASIDE if set_aside else FAIL,
        interval,
        optimise=optimise,
        schedule=schedule,
        shed=shed,
        overflow=overflow,
        headroom=headroom,
        durable=durable,
        watch=Watch(metrics, log, log_format, log_level, lineage),
        successor=replace,
    )
    if local:
        if checkpoint or durable or not cluster.is_default:
            raise RunError(
                "--local keeps no checkpoint and needs no Spark; leave out --checkpoint, --durable, --master and what "
                "belongs to it"
            )
        running = _start_locally(value, sources, sinks, out, settings)
        write_record(out, network, value, sources)
        see_through(running, out, as_json=as_json, resumes=False, has_outputs=bool(usual))
        return
    if force:
        start_over(position, sinks)
    elif (status := finished(position, value, sources)) is not None:
        say_finished(status, as_json)
        return
    session = spark_session(f"arterial {value.name}", master=cluster)
    try:
        running = start(value, sources, sinks, position, settings, spark=session)
        keep_command(position, context)
        see_through(running, out, as_json=as_json, resumes=True, has_outputs=bool(usual))
    finally:
        stop_spark(session)


def _start_locally(
    network: NetworkValue, sources: dict[str, Source], sinks: dict[str, Sink], out: Path, settings: Settings
) -> Run:
    """Replace what an earlier local run wrote; never what belongs to a checkpoint, or to a run that is at work."""
    from arterial.connectors.sinks.files.parts import FileSink, clear
    from arterial.engine.run.checkpoint.folder import FOLDER
    from arterial.engine.run.checkpoint.lock import LOCK_FILE, lock_checkpoint
    from arterial.engine.run.figures.status import RUN_FILE
    from arterial.engine.run.local import run_locally
    from arterial.storage.place import remove, remove_folder

    if (out / "checkpoint").exists():
        raise RunError(f"{out} holds the outputs and the checkpoint of a run on Spark; give another folder with --out")
    kept = out / "local"
    with ExitStack() as held:
        if (kept / FOLDER / LOCK_FILE).exists():
            held.enter_context(lock_checkpoint(kept / FOLDER))
        remove_folder(kept)
        remove(out / RUN_FILE)
        for name, sink in sinks.items():
            if isinstance(sink, FileSink) and sink.folder == out / name:
                clear(out / name, name)
    return run_locally(network, sources, sinks, kept, settings)


def sources_of(network: NetworkValue, given: list[str], **options: Any) -> dict[str, Source]:
    """What each source reads; files at the speed, and with the times, that were asked for."""
    from dataclasses import fields, replace

    from arterial.connectors.files.source import FileSource
    from arterial.connectors.kafka.source import KafkaSource
    from arterial.connectors.live.source import LiveSource
    from arterial.connectors.uri import source_from
    from arterial.engine.run.binding import first_port

    sources = {}
    for name, where in _bindings(network, given).items():
        source = source_from(where, name, network.streams[first_port(network, name)])
        if isinstance(source, FileSource | LiveSource | KafkaSource):
            names = {one.name for one in fields(source)}
            given_to = {option: value for option, value in options.items() if value is not None and option in names}
            source = replace(source, **given_to)
        sources[name] = source
    return sources


def sinks_from(network: NetworkValue, given: list[str], position: Path, *, as_json: bool) -> dict[str, Sink]:
    """The sinks of the outputs and connection points that were named. A URI may be secret: no message has it."""
    from arterial.connectors.sinks.print import PrintSink
    from arterial.connectors.uri import sink_from
    from arterial.face.bindings import point_names

    outputs = network.output_names
    sinks: dict[str, Sink] = {}
    for text in given:
        name, sign, where = text.partition("=")
        if not sign or name not in (known := [*outputs, *point_names(network)]):
            what = f"network {network.name!r} has no output {name!r}" if sign else "expected NAME=URI"
            hint = near(name, known) if sign else ""
            raise RunError(f"--sink: {what}; the outputs are: {', '.join(outputs) or 'none'}{hint}")
        if name in sinks:
            raise RunError(f"--sink {name}=…: given twice; an output has one sink")
        sinks[name] = sink_from(where, name, position / "parts" / name)
        if as_json and isinstance(sinks[name], PrintSink):
            raise RunError(f"--sink {name}=-: --json prints statistics on standard output; leave out one of them")
    return sinks


def _bindings(network: NetworkValue, given: list[str]) -> dict[str, str]:
    names = network.source_names
    bound: dict[str, str] = {}
    for text in given:
        name, sign, path = text.partition("=")
        if not sign and len(names) == 1:
            name, path = names[0], text
        elif not sign:
            raise RunError(f"--source {text}: expected NAME=PATH; the sources are: {', '.join(names)}")
        if name not in names:
            raise RunError(
                f"--source {text}: network {network.name!r} has no source {name!r}; it has: {', '.join(names)}"
                + near(name, names)
            )
        bound[name] = path
    if missing := [name for name in names if name not in bound]:
        raise RunError(f"network {network.name!r}: give --source {missing[0]}=PATH")
    return bound
