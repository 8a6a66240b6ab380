"""`arterial explain`: how a network will run: superboxes, keys, state, shuffles, and Spark's plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arterial.cli.parts.network import NETWORK_HELP, load_network
from arterial.errors import plain

if TYPE_CHECKING:
    from arterial.engine.plan.plan import Plan


def explain(
    network: str = typer.Argument(help=f"{NETWORK_HELP} With --why: the output folder of a run, or its checkpoint."),
    shards: int = typer.Option(2, "--shards", help="For how many shards."),
    unordered: list[str] = typer.Option([], "--unordered", help="A source whose tuples come out of order. Repeatable."),
    spark: bool = typer.Option(False, "--spark", help="Show Spark's plan too; this starts Spark."),
    why: bool = typer.Option(False, "--why", help="Show what the optimizer of a run changed, and why."),
    as_json: bool = typer.Option(False, "--json", help="Print it as JSON."),
) -> None:
    """Show the superboxes of a network: which boxes run together, by which key, with which state.

    With --why and the folder of a run: each change that its optimizer made, what it was expected to save, what came of
    it, and the figures that it was decided by.
    """
    from arterial.engine.plan.compile import compile_network

    if why:
        _say_why(Path(network), as_json)
        return
    plan = compile_network(load_network(network), shards, in_arrival_order=unordered)
    said = plan.describe()
    if spark:
        said["spark plan"] = _spark_plan(plan)
    typer.echo(json.dumps(said, indent=2) if as_json else plain("\n".join(lines_of(said))))


def _say_why(folder: Path, as_json: bool) -> None:
    from arterial.engine.run.checkpoint.folder import FOLDER, find_checkpoint
    from arterial.engine.run.versions.optimizer import in_words, read_log

    lines = read_log(find_checkpoint(folder) / FOLDER)
    if as_json:
        for line in lines:
            typer.echo(json.dumps(line))
    else:
        typer.echo("\n".join(in_words(lines)) or "the optimizer changed nothing")


def lines_of(said: dict[str, Any]) -> list[str]:
    """The plan of a network as lines to read."""
    lines = [f"{said['network']}: {said['shuffles']} shuffle(s), {said['shards']} shards"]
    for level in said["levels"]:
        lines.append("")
        where = "where the sources are read" if level["level"] == "source" else f"level {level['level']}"
        lines.append(f"{where}:")
        for superbox in level["superboxes"]:
            lines.append(f"  superbox {superbox['name']}: {_place(superbox)}")
            lines += [f"    {box['name']} ({box['kind']})" for box in superbox["boxes"]]
            if superbox["state"]:
                lines.append(f"    state: {', '.join(superbox['state'])}")
        for send in level["sends"]:
            by = f" by {', '.join(send['by'])}" if send["by"] else ""
            lines.append(f"  sends {send['stream']} to level {send['to level']}: {_ROUTES[send['route']]}{by}")
    if "spark plan" in said:
        lines += ["", "Spark's plan:", said["spark plan"]]
    return lines


_ROUTES = {"split": "split over all slots", "same": "in its slot", "first": "to slot 0"}


def _place(superbox: dict[str, Any]) -> str:
    if superbox["where"] == "key":
        return f"in every slot, sharded by {', '.join(superbox['key'])}"
    return "in slot 0" if superbox["where"] == "one" else "in every slot, on a piece of the train"


def _spark_plan(plan: Plan) -> str:
    import tempfile
    from pathlib import Path

    from arterial.engine.host.failures import FAIL
    from arterial.engine.spark.levels import add_levels
    from arterial.engine.spark.packed_work import PackedWork
    from arterial.engine.spark.session import spark_session, stop_spark
    from arterial.engine.spark.source import read_sources
    from arterial.engine.spark.work import Work

    session = spark_session("arterial explain", settings={"spark.sql.shuffle.partitions": str(plan.shards)})
    with tempfile.TemporaryDirectory() as folder:
        work = PackedWork.of(Work("explain", plan, {}, {}, FAIL, folder=""), Path(folder))
        rows = add_levels(read_sources(session, work, Path(folder), 1), work, len(plan.levels))
        text: str = rows._jdf.queryExecution().logical().toString()
    stop_spark(session)
    return text
