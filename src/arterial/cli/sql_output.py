"""How `arterial sql` tells the changes of an answer: as lines, as JSON, or as a live table; and into a file."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from arterial.errors import MachineError

if TYPE_CHECKING:
    import polars as pl

    from arterial.drawing import Network
    from arterial.sql.live import Answer

SHOWN_ROWS, SHOWN_UPDATES = 20, 8
SIGNS = {1: "+", -1: "-"}


def teller_for(net: Network, out: Path | None, as_json: bool, fractional: bool) -> Teller:
    """Who tells changes: a live table on a terminal, lines elsewhere, or lines of JSON."""
    from arterial.sql.live import answer_stream

    stream = answer_stream(net.value)
    if as_json:
        return _Json(stream, out, fractional)
    if is_terminal():
        return _Screen(stream, out, fractional)
    return _Lines(stream, out, fractional)


def is_terminal() -> bool:
    """Whether somebody looks on."""
    return sys.stdout.isatty()


class Teller:
    """Tells changes, somewhere; and writes them to a file, if there is one."""

    train_size = 20_000

    def __init__(self, stream: Any, out: Path | None, fractional: bool) -> None:
        self.stream, self.out, self.fractional = stream, out, fractional
        self.columns = [name for name in stream.schema.names if name not in (stream.time, "sign")]
        self.file: TextIO | None = None

    def __enter__(self) -> Teller:
        if self.out is not None:
            try:
                self.file = self.out.open("w", newline="", encoding="utf-8")
            except OSError as fault:
                raise MachineError(f"--out {self.out}: cannot be written: {fault.strerror or fault}") from None
            self._write([[self.stream.time, "sign", *self.columns]])
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            self._closing(self.file.close)

    def told(self, answer: Answer, changes: pl.DataFrame) -> None:
        """The changes of a train."""
        rows = self.rows(changes)
        if self.file is not None:
            self._write(rows)
        self.show(answer, rows)

    def keep(self, changes: pl.DataFrame) -> None:
        """Changes that were told before: into the file only."""
        if self.file is not None:
            self._write(self.rows(changes))

    def rows(self, changes: pl.DataFrame) -> list[list[Any]]:
        """Changes as time, sign and values."""
        from arterial.sql.live import shown_time

        return [
            [shown_time(at, self.fractional), SIGNS[sign], *row]
            for at, sign, *row in changes.select(self.stream.time, "sign", *self.columns).iter_rows()
        ]

    def show(self, answer: Answer, rows: list[list[Any]]) -> None:
        """Show the changes."""
        raise NotImplementedError

    def verdict(self, answer: Answer, aside: int, seconds: float) -> None:
        """What it came to."""
        set_aside = f", {aside:,} set aside" if aside else ""
        where = f"; the updates are in {self.out}" if self.out else ""
        sys.stderr.write(
            f"{answer.size():,} row(s) in the answer, {answer.updates:,} updates, "
            f"{answer.tuples:,} tuples read{set_aside}, {seconds:.1f} s{where}\n"
        )

    def _write(self, rows: list[list[Any]]) -> None:
        assert self.file is not None
        text = _csv(rows)
        self._closing(lambda: self.file and self.file.write(text))

    def _closing(self, write: Any) -> None:
        try:
            write()
        except OSError as fault:
            raise MachineError(f"--out {self.out}: cannot be written: {fault.strerror or fault}") from None


class _Lines(Teller):
    """Plain lines on standard output; none if there is a file."""

    def show(self, answer: Answer, rows: list[list[Any]]) -> None:
        if self.out is None and rows:
            sys.stdout.write(_csv(rows))
            sys.stdout.flush()


class _Json(Teller):
    """Lines of JSON."""

    def show(self, answer: Answer, rows: list[list[Any]]) -> None:
        for at, sign, *values in rows:
            row = dict(zip(self.columns, map(_plain, values), strict=True))
            sys.stdout.write(json.dumps({"t": _number(at), "sign": sign, "row": row}) + "\n")
        sys.stdout.flush()

    def verdict(self, answer: Answer, aside: int, seconds: float) -> None:
        said = {
            "rows": answer.size(),
            "updates": answer.updates,
            "tuples": answer.tuples,
            "set_aside": aside,
            "seconds": round(seconds, 3),
        }
        sys.stdout.write(json.dumps({"verdict": said}) + "\n")


class _Screen(Teller):
    """The answer as a live table, and the last updates below it."""

    train_size = 2_000

    def __enter__(self) -> Teller:
        from rich.console import Console
        from rich.live import Live

        super().__enter__()
        self.live = Live(console=Console(), refresh_per_second=8)
        self.live.__enter__()
        self.latest: list[list[Any]] = []
        return self

    def __exit__(self, *error: object) -> None:
        self.live.__exit__(None, None, None)
        super().__exit__(*error)

    def show(self, answer: Answer, rows: list[list[Any]]) -> None:
        self.latest = [*self.latest, *rows][-SHOWN_UPDATES:]
        self.live.update(self._picture(answer))

    def _picture(self, answer: Answer) -> Any:
        from rich.console import Group
        from rich.markup import escape
        from rich.table import Table

        at = self.latest[-1][0] if self.latest else ""
        table = Table(
            *map(escape, self.columns), title=f"the answer at {self.stream.time} {at}: {answer.size():,} row(s)"
        )
        ordered = sorted(
            answer.rows.elements(), key=lambda row: [(value is None, str(type(value)), value) for value in row]
        )
        for row in ordered[:SHOWN_ROWS]:
            table.add_row(*(escape(str(_plain(value))) for value in row))
        if len(ordered) > SHOWN_ROWS:
            table.caption = f"and {len(ordered) - SHOWN_ROWS:,} more"
        updates = Table(self.stream.time, "", *map(escape, self.columns), title=f"{answer.updates:,} updates")
        for when, sign, *values in self.latest:
            colour = "green" if sign == "+" else "red"
            updates.add_row(when, f"[{colour}]{sign}[/]", *(escape(str(_plain(value))) for value in values))
        return Group(table, updates)


def _plain(value: Any) -> Any:
    """A value as JSON and people read it."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _csv(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
