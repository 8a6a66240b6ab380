"""How `arterial sql` prints the changes of an answer: as lines, as JSON, or as a live table; and into a file."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from arterial.errors import MachineError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Group

    from arterial.drawing import Network
    from arterial.network.box import Stream
    from arterial.sql.inputs.live import Answer

SHOWN_ROWS, SHOWN_UPDATES = 20, 8


def teller_for(net: Network, out: Path | None, as_json: bool, fractional: bool) -> Teller:
    """What prints changes: a live table on a terminal, lines elsewhere, or lines of JSON."""
    from arterial.sql.inputs.live import answer_stream

    stream = answer_stream(net.value)
    if as_json:
        return JsonTeller(stream, out, fractional)
    if is_terminal():
        return _Screen(stream, out, fractional)
    return _Lines(stream, out, fractional)


def is_terminal() -> bool:
    """Whether somebody looks on."""
    return sys.stdout.isatty()


class Teller(ABC):
    """Prints changes, and writes them to a file if there is one."""

    train_size = 20_000

    def __init__(self, stream: Stream, out: Path | None, fractional: bool) -> None:
        self.stream, self.out, self.fractional = stream, out, fractional
        self.columns = [name for name in stream.schema.names if name not in (stream.time, "sign")]
        self.file: BinaryIO | None = None

    def __enter__(self) -> Teller:
        if self.out is not None:
            self._try(self._open)
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            self._try(self.file.close)

    def told(self, answer: Answer, changes: pl.DataFrame) -> None:
        """The changes of a train."""
        self.show(answer, self.keep(changes))

    def keep(self, changes: pl.DataFrame) -> pl.DataFrame:
        """Write changes to the file; gives them as texts."""
        from arterial.sql.inputs.live import as_texts

        texts = as_texts(changes, self.stream, self.fractional)
        if self.file is not None:
            self._try(lambda: self._write(texts))
        return texts

    @abstractmethod
    def show(self, answer: Answer, texts: pl.DataFrame) -> None:
        """Show the changes."""

    def verdict(self, answer: Answer, aside: int, seconds: float) -> None:
        """What it came to."""
        set_aside = f", {aside:,} set aside" if aside else ""
        where = f"; the updates are in {self.out}" if self.out else ""
        sys.stderr.write(
            f"{answer.size:,} row(s) in the answer, {answer.updates:,} updates, "
            f"{answer.tuples:,} tuples read{set_aside}, {seconds:.1f} s{where}\n"
        )

    def _open(self) -> None:
        assert self.out is not None
        self.file = self.out.open("wb")
        self.stream.schema.empty().select(self.stream.time, "sign", *self.columns).write_csv(self.file)

    def _write(self, texts: pl.DataFrame) -> None:
        assert self.file is not None
        texts.write_csv(self.file, include_header=False)

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as fault:
            raise MachineError(f"--out {self.out}: cannot be written: {fault.strerror or fault}") from None


class _Lines(Teller):
    """Plain lines on standard output; none if there is a file."""

    def show(self, answer: Answer, texts: pl.DataFrame) -> None:
        if self.out is None and texts.height:
            sys.stdout.write(texts.write_csv(include_header=False))
            sys.stdout.flush()


class JsonTeller(Teller):
    """Lines of JSON."""

    def show(self, answer: Answer, texts: pl.DataFrame) -> None:
        for at, sign, *values in texts.iter_rows():
            row = dict(zip(self.columns, values, strict=True))
            sys.stdout.write(json.dumps({"t": _number(at), "sign": sign, "row": row}) + "\n")
        sys.stdout.flush()

    def verdict(self, answer: Answer, aside: int, seconds: float) -> None:
        said = {
            "rows": answer.size,
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
        self.rows: pl.DataFrame | None = None
        self.latest: list[tuple[str, ...]] = []
        return self

    def __exit__(self, *error: object) -> None:
        self.live.__exit__(None, None, None)
        super().__exit__(*error)

    def keep(self, changes: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        texts = super().keep(changes)
        came = texts.select(*self.columns, (2 * (pl.col("sign") == "+").cast(pl.Int64) - 1).alias("sign"))
        both = came if self.rows is None else pl.concat([self.rows, came])
        self.rows = both.group_by(self.columns).agg(pl.col("sign").sum()).filter(pl.col("sign") != 0)
        return texts

    def show(self, answer: Answer, texts: pl.DataFrame) -> None:
        self.latest = [*self.latest, *(_words(row) for row in texts.tail(SHOWN_UPDATES).iter_rows())][-SHOWN_UPDATES:]
        self.live.update(self._picture(answer))

    def _picture(self, answer: Answer) -> Group:
        from rich.console import Group
        from rich.table import Column, Table
        from rich.text import Text

        at = self.latest[-1][0] if self.latest else ""

        def headings() -> list[Column]:
            return [Column(Text(name)) for name in self.columns]

        table = Table(*headings(), title=f"the answer at {self.stream.time} {at}: {answer.size:,} row(s)")
        assert self.rows is not None
        ordered = self.rows.sort(self.columns).head(SHOWN_ROWS)
        for *row, count in ordered.iter_rows():
            for _ in range(min(count, SHOWN_ROWS - table.row_count)):
                table.add_row(*map(Text, _words(row)))
        if answer.size > table.row_count:
            table.caption = f"and {answer.size - table.row_count:,} more"
        updates = Table(Column(Text(self.stream.time)), "", *headings(), title=f"{answer.updates:,} updates")
        for when, sign, *words in self.latest:
            updates.add_row(Text(when), Text(sign, "green" if sign == "+" else "red"), *map(Text, words))
        return Group(table, updates)


def _words(row: Iterable[object]) -> tuple[str, ...]:
    return tuple("" if value is None else str(value) for value in row)


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
