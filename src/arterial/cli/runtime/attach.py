"""`arterial attach`: a query on a running network, its history first, then live."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.errors import RunError

if TYPE_CHECKING:
    from types import FrameType

    from arterial.engine.attach.attachment import Attachment
    from arterial.sql.attach import Query
    from arterial.sql.inputs.reading import Input

_NETWORK = re.compile(r"[\w./\\-]+(\.py)?(:\w+)?")
SOON = 2.0
"""The process steps back behind the run's: all the way, if it did not at once, when the first rows are out or after so
many seconds. So whoever asks gets a first answer also on a machine with nothing to spare."""


def attach(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    point: str = typer.Argument(help="The connection point or view to ask."),
    query: str = typer.Argument(
        "",
        help='SQL, "SELECT … FROM POINT … [SINCE t] [UP TO t]"; or a network, MODULE:NAME or FILE.py:NAME, with a '
        "source of the point's name. Left out: all tuples.",
        show_default=False,
    ),
    since: str | None = typer.Option(
        None, "--since", help="Begin at this time; or so long before now: '1 hour'.", show_default="all that is kept"
    ),
    up_to: str | None = typer.Option(
        None, "--up-to", help="End when the answer is complete through this time.", show_default="the end of the run"
    ),
    object: str | None = typer.Option(
        None,
        "--object",
        help="SQL: the column that says which object; the latest row of each stands.",
        show_default="all rows stand",
    ),
    tables: list[str] = typer.Option([], "--table", help="SQL: NAME=FILE: a table to join with. Repeatable."),
    follow: bool = typer.Option(
        False, "--follow", help="Wait for a run that has stopped to go on; otherwise the answer ends there."
    ),
    token: Path | None = typer.Option(
        None, "--token", help="Keep in this file how far the answer is, with the state; go on from it if it is there."
    ),
    resume: str | None = typer.Option(None, "--resume", help="Go on from this token, which an earlier answer printed."),
    out: Path | None = typer.Option(None, "--out", "-o", help="Write the rows to this CSV file."),
    skip_lost: bool = typer.Option(
        False, "--skip-lost", help="Go on where the retention has overtaken the query, and say what is missing."
    ),
    urgent: bool = typer.Option(
        False, "--urgent", help="Do not step back behind the run: for a machine that other programs keep busy."
    ),
    figures: bool = typer.Option(False, "--figures", help="At the end, print what was read as a line of JSON."),
    as_json: bool = typer.Option(False, "--json", help="Print rows and marks as lines of JSON."),
) -> None:
    """Ask a running network: all that a connection point keeps, then what comes, as one answer; Ctrl-C detaches.

    Rows are lines of CSV; a line '# complete through T token …' says that all rows up to time T were printed, and
    --resume with that token goes on exactly there. A resumed answer begins with '# resumes after T': drop what you have
    after that mark. The query runs in this process, at the lowest priority unless --urgent: where the machine has
    time to spare from the start, elsewhere once its first rows are out. The run is not touched.

    Exit codes: 0 complete, 1 failed, 3 the run has stopped (resume with the token, but not of a run with --local),
    130 detached by Ctrl-C.

    Example: arterial attach out kept "SELECT seg, avg(speed) AS v FROM kept GROUP BY seg, TUMBLE(time, '1 minute')"
    """
    from arterial.engine.attach.step_watch import StepWatch
    from arterial.engine.host.step_back import LOWEST, first_step, in_own_session, step_back

    if not urgent:
        watch = StepWatch(folder)
        in_own_session(watch.is_in_step)  # before anything has threads
        step_back(first_step(watch.is_in_step))

    from arterial.cli.parts import exit_codes
    from arterial.cli.runtime.attach_output import printer_for
    from arterial.engine.attach.attachment import STOPPED
    from arterial.engine.run.checkpoint.folder import find_checkpoint
    from arterial.sql.attach import Options, attach_to, resume_from

    began, ahead = time.monotonic(), not urgent
    asked = query_from(query)
    options = Options(since, up_to, object, _tables(tables), follow, skip_lost, resume, token)
    resumed = resume_from(options)
    checkpoint = find_checkpoint(folder)
    attachment = attach_to(checkpoint, point, asked, options, resume=resumed)
    printer = printer_for(attachment, out, as_json=as_json)
    interrupted = _detach_on_signals(attachment)
    with printer, attachment:
        resumed.written = printer.written
        printer.begin()
        for answer in attachment:
            printer.show(answer)
            if ahead and (any(len(rows) for rows in answer.rows.values()) or time.monotonic() - began > SOON):
                ahead = False
                step_back(LOWEST)
    printer.end(figures, resumes=(checkpoint / "spark").exists())
    if interrupted:
        raise typer.Exit(exit_codes.INTERRUPTED)
    if attachment.ended == STOPPED:
        raise typer.Exit(exit_codes.RESUMABLE)


def query_from(text: str) -> Query | None:
    """SQL, or the network of that name."""
    if not text.strip():
        return None
    if not _NETWORK.fullmatch(text.strip()):
        return text
    from arterial.cli.parts.network import load_network

    return load_network(text.strip())


def _tables(given: list[str]) -> dict[str, Input]:
    found: dict[str, Input] = {}
    if given:
        from arterial.sql.inputs.reading import Wishes, read_input

        for text in given:
            name, sign, path = text.partition("=")
            if not sign or not name.strip() or not path:
                raise RunError(f"--table {text}: expected NAME=FILE")
            found[name.strip()] = read_input(Path(path), Wishes(), table=True)
    return found


def _detach_on_signals(attachment: Attachment) -> list[int]:
    """Ctrl-C and SIGTERM end the answer after the piece at hand; a second Ctrl-C at once."""
    came: list[int] = []

    def detach(number: int, frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)
        attachment.detach()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, detach)
    return came
