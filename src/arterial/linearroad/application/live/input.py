"""Live input: lines that come through a TCP connection, standard input or a named pipe, spooled by a thread of the run.

A stream cannot be asked to come again, so the run goes on from its spool after a crash; what had not been spooled is
the sender's to send again.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from arterial.connectors.live.ending import MARKER, Ending
from arterial.connectors.live.places import LISTEN, PIPE, Place, is_pipe, opened, parse_place, polled, read_piece
from arterial.connectors.pace import Pace
from arterial.connectors.source import Source
from arterial.engine.run.run import Run
from arterial.errors import ArterialError, RunError
from arterial.linearroad.application.live.feed import LiveReportFeed, LiveRequestFeed
from arterial.linearroad.application.live.spool import Spool
from arterial.linearroad.application.live.spooler import Spooler
from arterial.linearroad.data.cleaning import Cleaner
from arterial.linearroad.data.event_files import reading
from arterial.linearroad.data.replicate import Replication

SPOOL = "spool"

MOST_AHEAD = 20_000_000
"""So many events may lie in the spool before the run; then the sender has to wait."""

CHECK_SECONDS = 0.05


def is_live(data: str | Path) -> bool:
    """Whether a user means a stream: `tcp://HOST:PORT`, a topic of Kafka, `-`, or the path of a named pipe."""
    if isinstance(data, str) and (data == "-" or data.startswith(("-?", "stdin:", "tcp:", "kafka:"))):
        return True
    with reading(Path(data)):
        return Path(data).exists() and is_pipe(Path(data))


class SpooledInput(ABC):
    """Input that goes through a spool; subclasses say where it comes from."""

    def __init__(
        self,
        name: str,
        *,
        work: Path,
        rejects: Path,
        begin: int,
        until: int | None,
        times: int,
        disorder: int,
        start_file: Path | None = None,
    ) -> None:
        if times != 1:
            raise ArterialError(
                f"--replicate {times}: live input cannot be replicated, because its numbers are not known before it "
                "ends; let the sender do it (arterial linear-road drive --replicate)"
            )
        if until is not None and not 0 <= begin <= until:
            raise ArterialError(f"--from {begin} must lie between 0 and the end of the run at {until}")
        self.name, self.begin, self.until, self.disorder = name, begin, until, disorder
        self.replication = Replication(1, 1, 1, 1)
        self.rejects, self.start_file = rejects, start_file
        self.spool = Spool((work / SPOOL).absolute())
        self.error: ArterialError | None = None
        self.notes: list[str] = []
        if self.spool.until and not self.spool.ended:
            self.notes.append(
                f"the spool reached second {self.spool.until}: send again from there, or from any second before; "
                "what is known already is skipped"
            )
        self._stopped = threading.Event()
        self._pace: Pace | None = None
        self._thread: threading.Thread | None = None

    @property
    def events(self) -> int | None:
        """How many will come is not known."""
        return None

    def feeds(self, pace: Pace, warm_up: int) -> dict[str, Source]:
        """Two feeds that advance together."""
        self._pace = pace
        feed: dict[str, Any] = {"folder": self.spool.folder, "pace": pace, "until": self.until, "warm_up": warm_up}
        return {"reports": LiveReportFeed(**feed), "requests": LiveRequestFeed(**feed)}

    def start(self, run: Run, warm_up: int) -> None:
        """Take the input as soon as the run is warm: a sender may begin when it sees us, and then the time counts."""
        if self.spool.ended:
            return
        self._thread = threading.Thread(target=self._work, args=(run, warm_up), name="arterial-spooler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more; a sender sees that the connection is closed."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5 * CHECK_SECONDS)

    def close(self) -> None:
        """The run came to its end: what is spooled is of no more use."""
        self.stop()
        self.spool.clear()

    def figures(self) -> dict[str, Any]:
        """How far it came, and what cleaning found."""
        account = self.spool.account
        return {
            "until": self.spool.until,
            "expressways": len(account.xways),
            "rejected": dict(account.rejected.most_common()),
            "skipped": account.skipped,
        }

    def _work(self, run: Run, warm_up: int) -> None:
        try:
            while run.active and run.statistics.steps < warm_up:
                if self._stopped.wait(CHECK_SECONDS):
                    return
            self._receive()
        except ArterialError as fault:
            self.error = fault
        except Exception as fault:
            self.error = RunError(f"{self.name}: the input failed: {type(fault).__name__}: {fault}")

    def _spooler(self, state: bytes | None = None) -> Spooler:
        assert self._pace is not None
        cleaner = Cleaner(disorder=self.disorder, file=self.name)
        return Spooler(
            self.spool,
            self.rejects,
            self._pace,
            cleaner=cleaner,
            until=self.until,
            state=state,
            start_file=self.start_file,
        )

    def _wait_for_room(self) -> None:
        """Let the run come nearer, if the spool is far ahead of it."""
        while self.spool.ahead > MOST_AHEAD and not self._stopped.wait(CHECK_SECONDS):
            pass

    @abstractmethod
    def _receive(self) -> None:
        """Spool everything that comes, until it ends or the run is stopped."""


class LineInput(SpooledInput):
    """Lines of a TCP connection, standard input or a named pipe.

    They end with a line `#end`, at `until`, or, with the option `eof=end`, where the stream does. A stream that ends
    otherwise was broken off: the run stops, and can go on.
    """

    def __init__(self, data: str | Path, **where: Any) -> None:
        self.place, self.end, self.eof_ends = _place_of(data)
        super().__init__(str(data), **where)

    def _receive(self) -> None:
        spooler, ending = self._spooler(), Ending(self.end)
        hint = f" Start the sender before the run, such as `arterial linear-road drive --data … --to {self.place.text}`"
        with opened(self.place, self._stopped.is_set, hint) as stream:
            ready = polled(stream)
            while not self._stopped.is_set() and not spooler.done:
                if ready.poll(CHECK_SECONDS * 1000):
                    try:
                        piece, is_over = read_piece(stream, ready)
                    except OSError as fault:
                        raise self._broken_off(f"was lost ({fault.strerror})", spooler) from None
                    if piece := ending.feed(piece):
                        spooler.feed(piece)
                    if ending.found or (is_over and self.eof_ends):
                        spooler.feed(ending.rest)
                        spooler.finish()
                    elif is_over and not spooler.done:
                        raise self._broken_off("ended", spooler)
                    self._wait_for_room()
                else:
                    spooler.check_silence()
                self.spool.trim()

    def _broken_off(self, how: str, spooler: Spooler) -> RunError:
        cut = " Its last line was cut short and is not taken." if spooler.cleaner.is_cut else ""
        return RunError(
            f"{self.name}: the stream {how} without the line {self.end!r} that says that the sender is done.{cut} "
            f"Start the sender again, from second {self.spool.until} or before, and repeat this command: it goes on "
            "from there. If this was the end, say so with --until SECOND, or with --data 'PLACE?eof=end'"
        )


def _place_of(data: str | Path) -> tuple[Place, str, bool]:
    """Where lines come from, the line that ends them, and whether the end of the stream does too."""
    if isinstance(data, Path) or not data.startswith(("-", "stdin:", "tcp:")):
        return Place(str(data), PIPE), MARKER, False
    place, options = parse_place(data)
    end, eof = options.pop("end", MARKER), options.pop("eof", "stop")
    if options or eof not in ("stop", "end") or place.kind == LISTEN or not end:
        raise ArterialError(f"--data {data}: the options of such input are end=TEXT and eof=end")
    return place, end, eof == "end"
