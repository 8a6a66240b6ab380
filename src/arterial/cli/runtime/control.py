"""`arterial control`: steer a run of another process."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from arterial.errors import RunError, near

_COMMANDS = ("pause", "resume", "step", "stop", "shed", "hold", "settle", "show")


def control(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    command: str = typer.Argument(help="pause, resume, step, stop, shed, hold, settle, or show."),
    arc: str | None = typer.Argument(None, help="For shed and hold: the arc, as box, box.port or 'a → b'."),
    trains: int = typer.Option(1, "--trains", "-n", help="For step: how many trains."),
    share: float = typer.Option(0.0, help="For shed: the share of the tuples to leave out, from 0 to 1."),
    keep: str | None = typer.Option(None, help="For shed: leave out all tuples for which this is not true."),
    by: str = typer.Option("", help="For shed: leave out whole groups, which agree in these columns: --by xway,dir."),
    overflow: bool = typer.Option(False, "--overflow", help="For shed: keep what is left out, to be settled."),
    take: int = typer.Option(0, help="For hold: so many of the waiting tuples go on in each step, the oldest first."),
    off: bool = typer.Option(False, "--off", help="For shed and hold: no longer."),
) -> None:
    """Control a run from another shell: pause, step, resume or stop it, leave out tuples of an arc, or let them wait.

    A command takes effect between two trains, is logged with the next one, and stays in force until another is given.
    What does not fit the network is refused, and the run goes on untouched. What is left out with --overflow is settled
    when the load has fallen, or at once with settle: its answers are then in the checkpoint's folder "settled".
    """
    from dataclasses import asdict

    from arterial.engine.run.checkpoint.folder import FOLDER, find_checkpoint
    from arterial.engine.steering import control as engine
    from arterial.engine.steering.arcs import check_drop, check_hold, find_arc, read_arcs, with_gone
    from arterial.figures.steering import Drop
    from arterial.storage.remote import path_of

    if command not in _COMMANDS:
        raise RunError(
            f"unknown command {command!r}; expected one of: {', '.join(_COMMANDS)}{near(command, _COMMANDS)}"
        )
    if command == "step" and trains < 1:
        raise RunError(f"step: --trains {trains}; expected a number from 1 on")
    folder = path_of(folder)
    own = folder / FOLDER if (folder / FOLDER).is_dir() else find_checkpoint(folder) / FOLDER
    if command not in ("show", "settle"):
        _say_if_over(own.parent, command)
    if command in ("shed", "hold"):
        if arc is None:
            raise RunError(f"{command}: which arc? Expected a box, a box.port or 'a → b' after it")
        arcs = read_arcs(own)
        if off:
            in_force = engine.read_control(own)
            arcs = with_gone(arcs, in_force.shed if command == "shed" else in_force.hold)
        found = find_arc(arc, arcs)
        if command == "shed":
            if not off and not share and keep is None:
                raise RunError(f"shed: how much of {found.name}? Give --share or --keep, or --off to end it")
            columns = tuple(name.strip() for name in by.split(",") if name.strip())
            drop = Drop(share, keep=keep, overflow=overflow, by=columns)
            if not off:
                check_drop(found, drop)
            said = engine.shed(own, found.name, None if off else drop)
        else:
            if not off:
                check_hold(found, take)
            said = engine.hold(own, found.name, None if off else take)
    elif arc is not None:
        raise RunError(f"{command} is about the whole run; it takes no arc, and {arc!r} came")
    elif command == "settle":
        from arterial.engine.run.versions.requests import SETTLE, ask

        answer = ask(own.parent, SETTLE)
        if not answer.accepted:
            raise RunError(f"{own.parent}: nothing is settled: {answer.said}")
        typer.echo(answer.said)
        return
    else:
        commands = {
            "pause": engine.pause,
            "resume": engine.resume,
            "step": lambda where: engine.step(where, trains),
            "stop": engine.stop,
            "show": engine.read_control,
        }
        said = commands[command](own)
    typer.echo(json.dumps(asdict(said), ensure_ascii=False))


def _say_if_over(checkpoint: Path, command: str) -> None:
    """Refuse to control a run that cannot go on; of one that may, say that the command waits for that."""
    from arterial.engine.run.figures.status import read_status
    from arterial.engine.run.states import FINISHED

    status = read_status(checkpoint)
    if status is None or status.is_active:
        return
    if status.state == FINISHED:
        raise RunError(
            f"{checkpoint}: {command}: the run is finished, since {status.finished}; nothing is left to control"
        )
    if not (checkpoint / "spark").is_dir():
        raise RunError(
            f"{checkpoint}: {command}: the run is {status.state}, and ran with --local, which begins from the start "
            "every time; nothing is left to control"
        )
    typer.echo(f"the run is {status.state}; {command} is kept, and is in force when the run goes on", err=True)
