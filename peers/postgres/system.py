"""Linear Road on PostgreSQL, polling: once a second what has arrived is copied in, and a procedure is called."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))
from polling import COLUMNS, Answers, options_of, queries, seconds
from postgres.server import own_server

HERE = Path(__file__).parent


class System:
    """A connection, and what is done with a second's events."""

    def __init__(
        self, server: str, answers: Answers, tolls: Path | None, asking: dict[str, str], triggers: bool
    ) -> None:
        self._db, self._answers, self._minute, self._second = psycopg.connect(server), answers, 1, -1
        self._queries, self._triggers = asking, triggers
        self._db.execute((HERE / "schema.sql").read_text())
        if triggers:
            self._db.execute((HERE / "triggers.sql").read_text())
        self._db.execute("set synchronous_commit = off")
        if tolls is not None:
            for part in sorted(tolls.glob("*.parquet")):
                self._copy("history", pl.read_parquet(part, columns=["vid", "day", "xway", "tolls"]))
        self._db.execute("create index on history (vid, day, xway)")
        self._db.commit()
        self._db.autocommit = True
        self._db.execute("vacuum analyze history")
        self._db.autocommit = False

    def take(self, second: int, arrived: pl.DataFrame) -> None:
        """Answer all events of a second; the seconds before it without events pass too."""
        for now in range(self._second + 1, second + 1):
            minute = now // 60 + 1
            if minute > self._minute:
                self._minute = minute
                self._db.execute("call on_minute(%s)", [minute])
            self._db.execute("truncate arrived, came" if self._triggers else "truncate arrived")
            if now == second:
                self._copy("arrived", arrived.select(COLUMNS))
            if not self._triggers:
                self._db.execute("call on_second(%s)", [now])
        for layout, query in self._queries.items():
            self._answers.write(layout, self._db.execute(query).fetchall())
        self._db.commit()
        self._answers.flush()
        self._second = second

    def _copy(self, table: str, rows: pl.DataFrame) -> None:
        with self._db.cursor().copy(f"copy {table} ({', '.join(rows.columns)}) from stdin (format csv)") as copy:  # type: ignore[arg-type]
            copy.write(rows.write_csv(include_header=False))


def main() -> None:
    """Run until the driver has no more."""
    options = options_of(__doc__)
    options.add_argument("--server", default="", help="where PostgreSQL is: a URI, or nothing for what PGHOST … say")
    options.add_argument("--own-server", action="store_true", help="start a server, and end it in the end")
    options.add_argument("--triggers", action="store_true", help="answer each report by a trigger")
    given = options.parse_args()
    asking = queries(given.vids_apart, given.xways_apart)
    with own_server() if given.own_server else nullcontext(given.server) as server:
        system = System(server, Answers(given.output, given.start), given.tolls, asking, given.triggers)
        for second, arrived in seconds():
            system.take(second, arrived)


if __name__ == "__main__":
    main()
