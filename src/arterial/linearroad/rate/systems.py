"""Other systems under rating: a command, or a folder with one, and what is filled into it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from arterial.errors import RunError, near
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.history.tables import TOLL_HISTORY, read_rows, table_in

COMMAND_FILE = "command"
PLACES = ("{output}", "{start}", "{tolls}", "{topic}", "{ready}", "{python}", "{vids_apart}", "{xways_apart}")
HERE = "{here}"
_PLACE = re.compile(r"(?<!\$)\{\w+\}")
TOLLS_FOLDER = "tolls"


def command_of(system: str) -> str:
    """The command of a system that is given as such, or as a folder with a file `command`."""
    folder = Path(system)
    if not folder.is_dir():
        return _checked(system, PLACES)
    try:
        command = (folder / COMMAND_FILE).read_text().strip()
    except OSError:
        raise RunError(
            f"{folder}: a folder given to --system has a file '{COMMAND_FILE}' with the command of the system"
        ) from None
    return _checked(command, (*PLACES, HERE)).replace(HERE, shlex.quote(str(folder.absolute())))


def _checked(command: str, places: Sequence[str]) -> str:
    """The command; raises if it is none, or has a place that nothing is filled into."""
    try:
        words = shlex.split(command)
    except ValueError as fault:
        raise RunError(f"--system: {command!r} is no command: {fault}; quote it as for a shell") from None
    if not words:
        raise RunError("--system: expected a command, or a folder with one, found nothing")
    if unknown := [place for place in _PLACE.findall(command) if place not in places]:
        raise RunError(
            f"--system: nothing is filled into {unknown[0]}; the places are {', '.join(places)}; braces of the system "
            f"itself have a space in them: {{ x }}{near(unknown[0], places)}"
        )
    return command


def their_command(
    system: str,
    output: Path,
    start: Path,
    replication: Replication,
    tolls: Path = Path(TOLLS_FOLDER),
    ready: Path = Path("ready"),
    topic: str = "-",
) -> str:
    """The command of another system with its places filled in; without replicas, the steps between them are 0.

    >>> twice = Replication(times=2, vid_step=1000, xway_step=1, qid_step=500)
    >>> their_command("it {output} {start} {vids_apart} {xways_apart} {tolls}", Path("out"), Path("begin"), twice)
    'it out begin 1000 1 tolls'
    >>> their_command("it {ready}", Path("out"), Path("begin"), twice)
    'it ready'
    """
    several = replication.times > 1
    apart = [str(step if several else 0) for step in (replication.vid_step, replication.xway_step)]
    texts = (output, start, tolls, topic, ready, sys.executable)
    for place, value in zip(PLACES, [*(shlex.quote(str(text)) for text in texts), *apart], strict=True):
        system = system.replace(place, value)
    return system


def write_tolls(tolls: Path | None, folder: Path) -> None:
    """TollHistory as a folder with one CSV and one Parquet file, of no rows if there is none."""
    if (folder / "tolls.csv").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    schema = dict.fromkeys(TOLL_HISTORY.columns, pl.Int64)
    parts = [pl.DataFrame(schema=schema)]
    if tolls is not None:
        tolls = table_in(tolls, "tolls") or tolls
        parts += [pl.DataFrame(rows).select(*schema).cast(pl.Int64) for rows in read_rows(tolls, TOLL_HISTORY)]
    rows = pl.concat(parts)
    rows.write_parquet(folder / "tolls.parquet")
    rows.write_csv(folder / "tolls.csv", include_header=False)
