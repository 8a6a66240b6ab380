"""Linear Road on DuckDB, polling: once a second the events that have arrived are put through SQL, as a batch."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))
from polling import Answers, options_of, queries, seconds

HERE = Path(__file__).parent
TABLES = """
create table speeds (xway int, dir int, seg int, vid int, speed int);
create table minutes (minute int, xway int, dir int, seg int, speeds bigint, cars int);
create table stopped (vid int, time int, xway int, dir int, lane int, pos int);
create table accidents (minute int, xway int, dir int, seg int);
create table accounts (vid int primary key, balance int, since int);
create table tolls (xway int, dir int, seg int, lav int, toll int, accident int);
"""
PHASE = "create table phase_{} (vid int, time int, xway int, dir int, lane int, seg int, pos int, run int, quote int)"


class System:
    """The tables, and what is done with a second's events."""

    def __init__(self, answers: Answers, tolls: Path | None, asking: dict[str, str]) -> None:
        self._db, self._answers, self._minute, self._second = duckdb.connect(), answers, 1, -1
        self._queries = asking
        self._db.execute(TABLES)
        for phase in range(30):
            self._db.execute(PHASE.format(phase))
        self._db.execute("create table history (vid int, day int, xway int, tolls int)")
        if tolls is not None:
            self._db.execute(
                "insert into history select vid, day, xway, tolls from read_parquet($1)", [f"{tolls}/*.parquet"]
            )
        self._db.execute("create index history_by_vehicle on history (vid)")
        self._by_second, self._by_minute = (HERE / "second.sql").read_text(), (HERE / "minute.sql").read_text()

    def take(self, second: int, arrived: pl.DataFrame) -> None:
        """Answer all events of a second; the seconds before it without events pass too."""
        for quiet in range(self._second + 1, second):
            self._run(quiet, arrived.clear())
        self._run(second, arrived)
        self._answer()
        self._second = second

    def _run(self, second: int, arrived: pl.DataFrame) -> None:
        minute = second // 60 + 1
        if minute > self._minute:
            self._minute = minute
            self._execute(self._by_minute, {"minute": minute})
        self._db.register("arrived", arrived)
        self._execute(self._by_second.replace("{phase}", str(second % 30)), {"second": second, "minute": minute})

    def _execute(self, script: str, values: dict[str, int]) -> None:
        """DuckDB takes parameters for one statement at a time."""
        for statement in duckdb.extract_statements(script):
            self._db.execute(statement, {name: values[name] for name in statement.named_parameters})

    def _answer(self) -> None:
        for layout, query in self._queries.items():
            self._answers.write(layout, self._db.execute(query).fetchall())
        self._answers.flush()


def main() -> None:
    """Run until the driver has no more."""
    options = options_of(__doc__)
    given = options.parse_args()
    asking = queries(given.vids_apart, given.xways_apart)
    system = System(Answers(given.output, given.start), given.tolls, asking)
    for second, arrived in seconds():
        system.take(second, arrived)


if __name__ == "__main__":
    main()
