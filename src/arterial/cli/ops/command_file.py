"""The command that a run was started with, kept in its checkpoint so that `arterial resume` can repeat it.

Paths are kept as they are seen from anywhere. What looks as if it held a password is left out, to be given again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from arterial.errors import RunError

COMMAND_FILE = "command.json"
_NOT_KEPT = ("network", "force", "replace", "checkpoint")
_NAMED = ("--source", "--sink")
_PLACES = ("--log", "--lineage")
_SPARK_FILES = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")


@dataclass(frozen=True)
class Command:
    """What `arterial run` was given."""

    network: str
    folder: str
    """Where it was started, for a network that is named by its module."""
    options: list[list[str]]
    """Each option as its words."""
    secret: list[str]
    """Options that are not kept, as a user would begin them."""


def keep_command(checkpoint: Path, context: typer.Context) -> None:
    """Write the command down; it says nothing that the run depends on."""
    from arterial.engine.run.checkpoint.folder import FOLDER
    from arterial.engine.run.watch.log import without_secrets
    from arterial.storage.place import PRIVATE, put_in_place

    options, secret = [], []
    for option in context.command.params:
        value = context.params.get(option.name or "")
        is_usual = value == option.get_default(context) and not isinstance(value, Path)  # ./out is where one stands
        if option.name in _NOT_KEPT or value is None or is_usual:
            continue
        word = max(option.opts if value is not False else option.secondary_opts, key=len)
        for one in value if isinstance(value, list | tuple) else [value]:
            said = _shown(one, word)
            if without_secrets(said) != said:
                secret.append(f"{word} {said.partition('=')[0]}=…" if word in _NAMED else f"{word} …")
            else:
                options.append([word] if isinstance(one, bool) else [word, said])
    network = str(context.params["network"])
    place, colon, name = network.rpartition(":") if ":" in network else (network, "", "")
    if place.endswith(".py"):
        network = f"{Path(place).absolute()}{colon}{name}"
    kept = Command(network, str(Path.cwd()), options, secret)
    put_in_place(checkpoint / FOLDER / COMMAND_FILE, json.dumps(asdict(kept), indent=2) + "\n", mode=PRIVATE)


def read_command(checkpoint: Path) -> Command:
    """The command of the run of a checkpoint."""
    from arterial.engine.run.checkpoint.folder import FOLDER

    path = checkpoint / FOLDER / COMMAND_FILE
    try:
        return Command(**json.loads(path.read_text()))
    except FileNotFoundError:
        raise RunError(
            f"{checkpoint}: the run there was not started by arterial run, so its command is not known; repeat the "
            "command or script that started it"
        ) from None
    except (OSError, ValueError, TypeError) as broken:
        raise RunError(f"{path}: is damaged ({broken}); repeat the command that started the run") from None


def arguments(command: Command, checkpoint: Path, network: str | None, given: list[str]) -> list[str]:
    """The arguments of `arterial run` to go on; what is `given` now goes before what was kept."""
    named = {(word, text.partition("=")[0]) for word, text in pairwise(given) if word in _NAMED}
    again = {f"{word} {name}=…" for word, name in named} | {f"{word} …" for word in given}
    if missing := [one for one in command.secret if one not in again]:
        raise RunError(f"{missing[0]} holds a password, which is not kept; give it again")
    kept = [
        word
        for option in command.options
        if not (option[0] in _NAMED and (option[0], option[1].partition("=")[0]) in named)
        for word in option
    ]
    with_other = [network, "--replace"] if network is not None else [command.network]
    return ["run", *with_other, *kept, *given, "--checkpoint", str(checkpoint)]


def _shown(value: Any, word: str) -> str:
    """An option's value, with paths as they are seen from any folder."""
    from arterial.connectors.uri import absolute_place
    from arterial.storage.remote import path_of

    if isinstance(value, Path):
        return str(path_of(value).absolute())
    text = str(value)
    if word in _NAMED:
        name, sign, where = text.partition("=")
        return f"{name}{sign}{absolute_place(where)}" if sign else absolute_place(text)
    if word in _PLACES:
        return absolute_place(text)
    name, sign, files = text.partition("=")
    if word == "--spark-conf" and name in _SPARK_FILES:
        return f"{name}{sign}{','.join(absolute_place(file) for file in files.split(','))}"
    return text
