"""Help as plain text: with boxes and colours, loading what draws them takes longer than all else that `--help` does."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class PlainHelp(TyperGroup):
    """A command with commands, each of which is listed with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands; a sentence that is longer than a line goes on in the next one."""
        rows = [(name, self.commands[name].get_short_help_str(1000)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
