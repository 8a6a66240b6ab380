"""The help of every command shows its texts whole: brackets are not taken for markup."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from arterial.cli.main import app


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, sub in getattr(command, "commands", {}).items():
        yield from _commands(sub, (*words, name))


COMMANDS = list(_commands(get_command(app), ()))


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_help_is_whole(words: tuple[str, ...], command: Any) -> None:
    shown = CliRunner().invoke(app, [*words, "--help"], terminal_width=2000)
    assert shown.exit_code == 0
    text = _plain(shown.output)
    wanted = [command.help or "", *(getattr(parameter, "help", None) or "" for parameter in command.params)]
    missing = [part for whole in wanted for part in whole.split("\n\n") if _plain(part) not in text]
    assert not missing


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def test_help_loads_nothing_that_draws() -> None:
    """Loading it would take longer than all else that `--help` does."""
    words = "import sys; from arterial.cli.main import main; sys.argv = ['arterial', '--help']\ntry: main()\nfinally: "
    shown = subprocess.run(
        [sys.executable, "-c", words + "print({'rich', 'polars', 'numpy', 'pyspark', 'numba'} & sys.modules.keys())"],
        capture_output=True,
        text=True,
    )
    assert shown.stdout.endswith("set()\n")
