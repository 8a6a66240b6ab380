"""`arterial run` and `arterial control`: run a network over files, watch it, steer it."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from arterial.cli.network import NETWORK_HELP, load_network
from arterial.errors import RunError

if TYPE_CHECKING:
    from arterial.engine.run.run import Run
    from arterial.network.network import NetworkValue

REFRESH_SECONDS = 0.5
PLAIN_SECONDS = 5.0


def run(
    network: str = typer.Argument(help=NETWORK_HELP),
    source: list[str] = typer.Option(
        [], "--source", "-s", help="NAME=PATH: the Parquet or CSV file, or folder of them, behind a source. Repeatable."
    ),
    out: Path = typer.Option(
        Path("out"), "--out", "-o", help="The folder for the outputs, each in a folder of its name."
    ),
    format: str = typer.Option("parquet", "--format", "-f", help="How outputs are written: parquet or csv."),
    merge: bool = typer.Option(False, "--merge", help="At the end, also put each output into one file."),
    checkpoint: Path | None = typer.Option(
        None, "--checkpoint", "-c", help="Where the run keeps its place and state [OUT/checkpoint]."
    ),
    speed: float | None = typer.Option(None, "--speed", help="1: real time; 10: ten times faster; none: all speed."),
    shards: int = typer.Option(0, "--shards", help="How many shards; 0: as many as there are cores."),
    train_size: int = typer.Option(0, "--train-size", help="About so many tuples make a train [500000]."),
    interval: float = typer.Option(0.0, "--interval", help="At least so many seconds from one train to the next."),
    set_aside: bool = typer.Option(
        False, "--set-aside", help="Put tuples that a box fails on aside, and go on; else the run stops there."
    ),
    master: str | None = typer.Option(None, "--master", help="The Spark master [local[*]]."),
    as_json: bool = typer.Option(False, "--json", help="Print statistics as lines of JSON, one a second."),
) -> None:
    """Run a network over files until they end, or until Ctrl-C; the same command goes on where it stopped.

    Example: arterial run examples/speeding.py:net --source reports=reports.parquet --out alerts
    """
    from arterial.connectors.file_sink import FileSink
    from arterial.connectors.file_source import FileSource
    from arterial.engine.host.failures import FAIL, SET_ASIDE
    from arterial.engine.run.run import run as start
    from arterial.engine.run.settings import TRAIN_SIZE, Settings
    from arterial.engine.spark.session import spark_session

    value = load_network(network)
    sources = {name: FileSource(path, speed) for name, path in _bindings(value, source).items()}
    sinks = {box.name: FileSink(out / box.name, format, merge) for box in value.boxes if not box.outputs}
    settings = Settings(shards, train_size or TRAIN_SIZE, SET_ASIDE if set_aside else FAIL, interval)
    session = spark_session(f"arterial {value.name}", master=master)
    try:
        running = start(value, sources, sinks, checkpoint or out / "checkpoint", settings, spark=session)
        for notice in running.notices:
            sys.stderr.write(notice + "\n")
        stopped = _watch(running, as_json)
    finally:
        session.stop()
    _tell_end(running, out, stopped, as_json)


def control(
    checkpoint: Path = typer.Argument(help="The checkpoint of the run."),
    wish: str = typer.Argument(help="pause, resume, step, stop, or show."),
    trains: int = typer.Option(1, "--trains", "-n", help="For step: how many trains."),
) -> None:
    """Steer a run from another shell: pause it, let it go on by a train, resume it, stop it.

    The wish takes effect between two trains, is logged with the next one, and stands until another is made.
    """
    from dataclasses import asdict

    from arterial.engine.run.run import FOLDER
    from arterial.engine.steering import control as engine

    folder = checkpoint / FOLDER
    wishes = {
        "pause": lambda: engine.pause(folder),
        "resume": lambda: engine.resume(folder),
        "step": lambda: engine.step(folder, trains),
        "stop": lambda: engine.stop(folder),
        "show": lambda: engine.read_control(folder),
    }
    if wish not in wishes:
        raise RunError(f"{wish!r} is no wish; expected one of: {', '.join(wishes)}")
    if not folder.is_dir():
        raise RunError(f"{checkpoint} is not the checkpoint of a run; expected the folder given as --checkpoint")
    typer.echo(json.dumps(asdict(wishes[wish]())))


def _bindings(network: NetworkValue, given: list[str]) -> dict[str, str]:
    names = [box.name for box in network.boxes if not box.inputs]
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
            )
        bound[name] = path
    if missing := [name for name in names if name not in bound]:
        raise RunError(f"network {network.name!r}: give --source {missing[0]}=PATH")
    return bound


def _watch(running: Run, as_json: bool) -> bool:
    """Show how it goes until it is over; whether it was stopped by a signal."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    console = Console(stderr=True)
    try:
        if console.is_terminal and not as_json:
            with Live(console=console, refresh_per_second=4) as live:
                _wait(running, asked, lambda: live.update(_table(running.statistics.describe())), REFRESH_SECONDS)
        elif as_json:
            _wait(running, asked, lambda: print(json.dumps(running.statistics.describe()), flush=True), 1.0)
        else:
            _wait(running, asked, lambda: _say(running), PLAIN_SECONDS)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return bool(asked)


def _wait(running: Run, asked: list[int], show: Any, every: float) -> None:
    shown = time.monotonic()
    while not running.wait(0.1):
        if asked:
            running.stop(0.0 if len(asked) > 1 else 60.0)
        if time.monotonic() - shown >= every:
            shown = time.monotonic()
            show()
    show()


def _say(running: Run) -> None:
    said = running.statistics.describe()
    sys.stderr.write(
        f"step {said['step']}: {said['tuples_in']:,} tuples in, {said['tuples_out']:,} out, "
        f"{said['tuples_per_second']:,}/s, delay {said['delay']:.2f} s\n"
    )
    sys.stderr.flush()


def _table(said: dict[str, Any]) -> Table:
    title = (
        f"{said['network']}: step {said['step']}, {said['tuples_in']:,} tuples in, {said['tuples_per_second']:,}/s, "
        f"{said['step_seconds']:.2f} s a step, delay {said['delay']:.2f} s"
    )
    table = Table("box", "kind", title=title)
    for column in ("in", "out", "selectivity", "µs/tuple"):
        table.add_column(column, justify="right")
    for name, box in said["boxes"].items():
        selectivity, cost = box["selectivity"], box["microseconds_per_tuple"]
        table.add_row(
            name,
            box["kind"],
            f"{box['in']:,}",
            f"{box['out']:,}",
            "" if selectivity is None else f"{selectivity:.3g}",
            "" if cost is None else f"{cost:.3g}",
        )
    return table


def _tell_end(running: Run, out: Path, stopped: bool, as_json: bool) -> None:
    said = running.statistics.describe()
    aside = f", {said['set_aside']:,} set aside ({running.checkpoint}/arterial/rejects)" if said["set_aside"] else ""
    if stopped and not running.ended:
        text = f"stopped after step {said['step']}; the same command goes on from there"
    else:
        text = f"done: {said['tuples_in']:,} tuples in, {said['tuples_out']:,} out{aside}; outputs are in {out}"
    if not as_json:
        sys.stderr.write(text + "\n")
