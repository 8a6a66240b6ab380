"""`arterial sql`: a continuous query in SQL over files, its live answer and its updates."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arterial.cli.parts.cluster import DRIVER_HOST, ENVIRONMENT, MASTER, SPARK_CONF, cluster_of
from arterial.errors import DataError, RunError, near

if TYPE_CHECKING:
    from arterial.cli.sql.output import Teller
    from arterial.connectors.rejects import Reject
    from arterial.drawing import Network
    from arterial.engine.run.settings import Settings
    from arterial.engine.spark.cluster import Cluster
    from arterial.sql.inputs.live import Answer
    from arterial.sql.inputs.reading import Input
    from arterial.sql.inputs.standard_input import MoreRows
    from arterial.sql.text.query import Query

STANDARD_INPUT = "-"


def sql(
    query: str = typer.Argument("", help="The query; - reads it from standard input.", show_default=False),
    file: Path | None = typer.Option(None, "--file", "-f", help="Read the query from this file."),
    sources: list[str] = typer.Option(
        [],
        "--from",
        help="NAME=FILE: the CSV, Parquet or event file of a stream or table, or Linear Road data; "
        "NAME=-: standard input, CSV, as it comes, or Parquet. Repeatable.",
    ),
    tables: list[str] = typer.Option([], "--table", help="NAME=FILE: a table, even if it has a time. Repeatable."),
    areas: list[str] = typer.Option([], "--area", help="NAME=x1,y1,x2,y2 or NAME='M',ID,xdist,ydist. Repeatable."),
    rows: list[str] = typer.Option(
        [], "--rows", help="NAME: all rows of this stream stand, not the latest of each object. Repeatable."
    ),
    object: str | None = typer.Option(
        None, "--object", help="The column that says which object.", show_default="by its name"
    ),
    x: str | None = typer.Option(None, "--x", help="The column of the position's x.", show_default="by its name"),
    y: str | None = typer.Option(None, "--y", help="The column of the position's y.", show_default="by its name"),
    time_column: str | None = typer.Option(None, "--time", help="The column of the time.", show_default="by its name"),
    timeout: str | None = typer.Option(
        None,
        "--timeout",
        help="An object that is silent for this long is gone: seconds, or '1 minute'.",
        show_default="never",
    ),
    lonlat: bool = typer.Option(
        False, "--lonlat", help="x, y are degrees of longitude and latitude; distances metres."
    ),
    out: Path | None = typer.Option(None, "--out", "-o", help="Write the updates to this CSV file."),
    rejects: Path | None = typer.Option(
        None, "--rejects", help="Write the rows that were set aside to this CSV file.", show_default="OUT.rejects.csv"
    ),
    speed: str = typer.Option("max", "--speed", help="1 is real time, 10 ten times faster, max does not wait."),
    as_json: bool = typer.Option(False, "--json", help="Print updates and the verdict as lines of JSON."),
    explain: bool = typer.Option(False, "--explain", help="Show how the query would run, and stop."),
    graph: Path | None = typer.Option(None, "--graph", help="Draw the query's network to this .svg or .mmd, and stop."),
    checkpoint: Path | None = typer.Option(
        None, "--checkpoint", "-c", help="Run on Spark, keep position and state in this folder, and continue there."
    ),
    shards: int = typer.Option(0, "--shards", help="On Spark: how many shards; 0: as many as there are cores."),
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
) -> None:
    """Run a continuous query: SELECT … FROM … WHERE … GROUP BY … GPAC-IN (…) GPAC-kNN (…).

    Every change of the answer is a line: t,+|-,columns. On a terminal, the answer itself is shown as it changes.

    GPAC-IN (x1, y1, x2, y2) are the objects in a rectangle, GPAC-IN ('M', ID, xdist, ydist) those in one around an
    object; GPAC-kNN (k, x, y) are the k nearest to a point, GPAC-kNN ('M', k, ID) the k nearest to an object.

    Example: arterial sql "SELECT ObjectID FROM Cars WHERE kind = 'taxi' GPAC-kNN ('M', 5, 7)" --from Cars=cars.csv
    """
    from arterial.cli.sql.output import teller_for
    from arterial.connectors.pace import MAX, parse_speed
    from arterial.engine.run.settings import Settings
    from arterial.moving.queries.space import Space
    from arterial.sql.catalog import Catalog
    from arterial.sql.compile import compile_sql
    from arterial.sql.inputs.live import alike
    from arterial.sql.inputs.reading import Wishes
    from arterial.sql.text.parse import parse_query

    started = time.perf_counter()
    cluster = cluster_of(master, driver_host, environment, spark_conf)
    pace = parse_speed(speed)
    text = _text(query, file)
    asked = parse_query(text)
    files = _files(asked, sources, tables)
    _check_standard_input(files, query, checkpoint)
    wishes = Wishes(object, x, y, time_column)
    space = Space.LONLAT if lonlat else Space.PLANE
    whole = _whole(rows, files)
    read, more = {}, {}
    for name, (path, table) in files.items():
        read[name], comes = _read(path, replace(wishes, rows=name in whole), table, space)
        if comes is not None:
            more[name] = comes
    inputs = alike(read)
    if any(inputs[name] is not read[name] for name in more):
        raise RunError(
            "the times of the files have fractions of seconds, and those of standard input so far have none; write it "
            "to a file first"
        )
    _check_wishes(wishes, inputs)
    catalog = Catalog({name: one.entry for name, one in inputs.items()}, _areas(areas))
    net = compile_sql(text, catalog, timeout=_duration(timeout), lonlat=lonlat)
    if explain or graph is not None:
        _show_network(net, explain, graph, shards or 2, as_json)
        return
    _tell_what_stands(inputs, windowed=asked.windowed)
    kept = rejects or (out and out.with_name(out.name + ".rejects.csv"))
    _tell_rejects(inputs, files, kept)
    teller = teller_for(net, out, as_json, any(one.fractional for one in inputs.values()))
    with teller:
        if checkpoint is None:
            if not cluster.is_default:
                raise RunError("--master is for a query on Spark; give --checkpoint too")
            if durable:
                raise RunError("--durable is for a query that keeps its position and state; give --checkpoint too")
            from arterial.sql.inputs.live import run_here

            paced = None if pace == MAX else pace
            answer = run_here(net.value, inputs, teller.told, train_size=teller.train_size, speed=paced, more=more)
        else:
            if pace != MAX:
                raise RunError("--speed paces a query in this process; leave out --checkpoint, or --speed")
            answer = _run_on_spark(net, inputs, teller, checkpoint, Settings(shards, durable=durable), cluster, force)
    later = {name: replace(inputs[name], rejects=tuple(comes.rejects), notices=()) for name, comes in more.items()}
    if any(one.rejects for one in later.values()):
        _tell_rejects(later, files, kept, [reject for one in inputs.values() for reject in one.rejects])
    aside = sum(len(one.rejects) for one in (*inputs.values(), *later.values()))
    teller.verdict(answer, aside, time.perf_counter() - started)


def _text(query: str, file: Path | None) -> str:
    if file is not None and query:
        raise RunError("expected a query, or --file, not both")
    if file is not None:
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise DataError(f"--file {file}: cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    if query == "-":
        return sys.stdin.read()
    if not query:
        raise RunError('expected a query: arterial sql "SELECT … FROM …", or --file, or - for standard input')
    return query


def _files(asked: Query, sources: list[str], tables: list[str]) -> dict[str, tuple[Path, bool]]:
    """The file behind each name of FROM, and whether it is said to be a table."""
    from arterial.sql.text.mistake import SqlError

    names = list({one.name.lower(): one.name for one in reversed(asked.relations)}.values())[::-1]
    found: dict[str, tuple[Path, bool]] = {}
    for option, given in (("--from", sources), ("--table", tables)):
        for text in given:
            name, sign, path = text.partition("=")
            if not sign:
                if len(names) > 1:
                    raise RunError(f"{option} {text}: expected NAME=FILE; the query names: {', '.join(names)}")
                name, path = names[0], text
            if not path:
                raise RunError(f"{option} {text}: expected NAME=FILE, got no file")
            known = [one for one in names if one.lower() == name.strip().lower()]
            if not known:
                has = f"it names: {', '.join(names)}{near(name, names)}"
                raise RunError(f"{option} {text}: the query does not name {name!r}; {has}")
            if known[0] in found:
                raise RunError(f"{option} {text}: {known[0]} was given already, as {found[known[0]][0]}")
            found[known[0]] = (Path(path), option == "--table")
    for one in asked.relations:
        if one.name.lower() not in {name.lower() for name in found}:
            raise SqlError(f"nothing is behind {one.name!r}; give --from {one.name}=FILE", asked.text, one.place)
    return found


def _check_standard_input(files: Mapping[str, tuple[Path, bool]], query: str, checkpoint: Path | None) -> None:
    named = [name for name, (path, _) in files.items() if str(path) == STANDARD_INPUT]
    if len(named) > 1 or (named and query == STANDARD_INPUT):
        raise RunError(f"standard input is one stream, table or query; got it for {', '.join(named)} and more")
    if named and checkpoint is not None:
        raise RunError(
            f"--from {named[0]}=-: standard input cannot be read again after a stop, as --checkpoint promises; "
            "write it to a file first"
        )


def _whole(rows: list[str], files: Mapping[str, tuple[Path, bool]]) -> set[str]:
    """The streams of which all rows stand."""
    found = set()
    for text in rows:
        known = [name for name in files if name.lower() == text.strip().lower()]
        if not known:
            raise RunError(
                f"--rows {text}: the query does not name it; it names: {', '.join(files)}{near(text, files)}"
            )
        found.add(known[0])
    return found


def _tell_what_stands(inputs: Mapping[str, Input], *, windowed: bool) -> None:
    """Say what the name of each stream means in this query."""
    from arterial.sql.catalog import StreamEntry

    for name, one in inputs.items():
        if not isinstance(one.entry, StreamEntry):
            continue
        key = one.entry.object
        if windowed:
            said = "all rows, in windows"
        elif key is None:
            said = "all rows (--object COLUMN: the latest row of each)"
        else:
            said = f"the latest row of each {key} (--rows {name}: all rows)"
        sys.stderr.write(f"{name}: {said}\n")


def _read(path: Path, wishes: Any, table: bool, space: Any) -> tuple[Input, MoreRows | None]:
    """What a file is, and of standard input what is still to come."""
    from arterial.sql.inputs.reading import read_input
    from arterial.sql.inputs.standard_input import read_standard_input

    if str(path) == STANDARD_INPUT:
        return read_standard_input(sys.stdin.buffer, wishes, table=table, space=space)
    if path.is_dir() or _is_linear_road(path):
        return _read_linear_road(path), None
    return read_input(path, wishes, table=table, space=space), None


def _is_linear_road(path: Path) -> bool:
    """Whether a file has lines of Linear Road: fifteen whole numbers."""
    if path.suffix == ".parquet" or not path.is_file():
        return False
    with path.open("rb") as file:
        fields = file.readline(1000).decode("utf-8", errors="replace").strip().split(",")
    return len(fields) == 15 and all(field.strip().lstrip("-").isdigit() for field in fields)


def _read_linear_road(path: Path) -> Input:
    """The position reports of a Linear Road data set: x along the road in feet, y across it, expressways apart."""
    import polars as pl

    from arterial.linearroad.data.dataset import open_data
    from arterial.network.schema import Field, Schema, Type
    from arterial.sql.catalog import StreamEntry
    from arterial.sql.inputs.reading import Input

    feet_a_lane, feet_an_expressway = 12.0, 10 * 5280.0
    reports = pl.DataFrame(open_data(path).read(0, 1 << 30)).filter(pl.col("type") == 0)
    lane = (pl.col("lane").cast(pl.Float64) + 1) * feet_a_lane * (1 - 2 * pl.col("dir").cast(pl.Float64))
    columns = ("time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")
    rows = reports.select(
        *(pl.col(name).cast(pl.Int64) for name in columns),
        x=pl.col("pos").cast(pl.Float64),
        y=pl.col("xway").cast(pl.Float64) * feet_an_expressway + lane,
    )
    fields = [Field(name, Type.INT64) for name in columns] + [Field("x", Type.FLOAT64), Field("y", Type.FLOAT64)]
    return Input(StreamEntry(Schema(tuple(fields)), "time", "vid", "x", "y"), rows)


def _check_wishes(wishes: Any, inputs: Mapping[str, Input]) -> None:
    for option, wish in (("object", wishes.object), ("x", wishes.x), ("y", wishes.y), ("time", wishes.time)):
        names = [name for one in inputs.values() for name in one.entry.schema.names]
        if wish is not None and wish.lower() not in {name.lower() for name in names}:
            has = "; ".join(f"{name} has: {', '.join(one.entry.schema.names)}" for name, one in inputs.items())
            raise DataError(f"--{option} {wish}: there is no such column{near(wish, names) or '.'} {has}")


def _areas(given: list[str]) -> dict[str, str]:
    areas = {}
    for text in given:
        name, sign, area = text.partition("=")
        if not sign or not name.strip():
            raise RunError(f"--area {text}: expected NAME=x1,y1,x2,y2 or NAME='M',ID,xdist,ydist")
        areas[name.strip()] = area
    return areas


def _duration(text: str | None) -> float | str | None:
    if text is None:
        return None
    from arterial.network.duration import check_duration

    try:
        value: float | str = float(text)
        value = int(value) if value == int(value) else value
    except (ValueError, OverflowError):
        value = text
    check_duration(value, "--timeout")
    if isinstance(value, float | int) and not value > 0:
        raise RunError(f"--timeout must be more than 0, got {text}; leave it out to keep objects for ever")
    return value


def _show_network(net: Network, explain: bool, graph: Path | None, shards: int, as_json: bool) -> None:
    from arterial.cli.explain import lines_of
    from arterial.cli.graph import write_picture
    from arterial.engine.plan.compile import compile_network
    from arterial.engine.plan.picture import mermaid

    plan = compile_network(net.value, shards)
    if graph is not None:
        write_picture(plan, graph, "--graph")
    if explain:
        said = plan.describe()
        typer.echo(json.dumps(said, indent=2) if as_json else "\n".join([*lines_of(said), "", mermaid(plan)]))


def _tell_rejects(
    inputs: Mapping[str, Input],
    files: Mapping[str, tuple[Path, bool]],
    kept: Path | None,
    before: Sequence[Reject] = (),
) -> None:
    """Say which lines were set aside, and write them to a file, behind those of before."""
    from arterial.connectors.rejects import EXAMPLES, Rejects, set_aside

    if kept is not None:
        aside = Rejects(kept)
        aside.add(before)
        for one in inputs.values():
            aside.add(one.rejects)
    for name, one in inputs.items():
        for notice in one.notices:
            sys.stderr.write(notice + "\n")
        if one.rejects:
            where = "" if kept else "; --rejects FILE keeps them"
            path = files[name][0]
            called = "standard input" if str(path) == STANDARD_INPUT else path
            sys.stderr.write(f"{called}: {set_aside(len(one.rejects), kept)}{where}\n")
            for reject in one.rejects[:EXAMPLES]:
                where = f"line {reject.line}: " if reject.line else ""
                sys.stderr.write(f"  {where}{reject.reason}\n")


def _run_on_spark(
    net: Network,
    inputs: Mapping[str, Input],
    teller: Teller,
    checkpoint: Path,
    settings: Settings,
    cluster: Cluster,
    force: bool,
) -> Answer:
    """Run it as a Spark streaming job; what it printed before a stop is in the answer, but not printed again."""
    from arterial.cli.parts.outcome import ending, leave, say_finished, stop_on_signals
    from arterial.cli.sql.output import JsonTeller
    from arterial.engine.run.checkpoint.finished import finished, start_over
    from arterial.engine.run.figures.status import note_state
    from arterial.engine.run.run import run as start
    from arterial.engine.spark.session import spark_session, stop_spark
    from arterial.sql.draw import ANSWER
    from arterial.sql.inputs.live import Answer, Parts, WatchedParts, answer_stream, last_instant, sources_for_spark

    if force:
        start_over(checkpoint, {}, ANSWER, "inputs")
    stream, folder = answer_stream(net.value), checkpoint / ANSWER
    answer, parts = Answer(stream), Parts(folder, stream, last_instant(net.value, inputs))
    before = parts.new()
    answer.take(before)
    teller.keep(before)

    def tell() -> None:
        changes = parts.new()
        answer.take(changes)
        teller.told(answer, changes)

    sources = sources_for_spark(net.value, inputs, checkpoint / "inputs")
    if (status := finished(checkpoint, net.value, sources)) is not None:
        if not isinstance(teller, JsonTeller):
            say_finished(status, as_json=False)
        answer.tuples = sum(status.tuples_in.values())
        return answer
    with stop_on_signals() as asked:
        session = spark_session("arterial sql", master=cluster)
        try:
            sinks = {ANSWER: WatchedParts(folder, after_step=tell)}
            running = start(net.value, sources, sinks, checkpoint, settings, spark=session)
            for notice in running.notices:
                sys.stderr.write(f"{notice}\n")
            note_state(checkpoint, running.status)
            try:
                while not running.wait(0.1):
                    if asked:
                        running.stop()
            finally:
                note_state(checkpoint, running.status)
        finally:
            stop_spark(session)
    answer.tuples = sum(running.status.tuples_in.values())
    tell()
    if not running.ended:
        sys.stderr.write(ending(running.status, resumes=True) + "\n")
        leave(running.status, interrupted=signal.SIGINT in asked)
    return answer
