"""`arterial optimise`: make the network of a run of another process cheaper, by what was measured so far."""

from __future__ import annotations

from pathlib import Path

import typer


def optimise(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    seconds: float = typer.Option(60.0, "--wait", help="How long to wait for the answer, in seconds."),
    as_json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Let a run change its network now, where that makes it cheaper; the outputs stay the same.

    What was measured in the last steps decides, at once. arterial run --optimise does it by itself, and waits until a
    change has been worth it for several steps. arterial explain DIR --why shows what was changed, and why.

    Exit codes: 0 done, or nothing to change, 1 refused, or the run is not running.
    """
    from arterial.cli.runtime.replace import say_answer
    from arterial.engine.run.checkpoint.folder import find_checkpoint
    from arterial.engine.run.versions.requests import OPTIMISE, ask

    say_answer(ask(find_checkpoint(folder), OPTIMISE, seconds=seconds), as_json)
