"""The log of a run: one line for each event, with the run's id, the step and, where there is one, the box.

It holds names, counts and states, never what sources and sinks were given, so no password can get in. Files are
bounded: one that is full becomes `FILE.1`, in the place of an older one.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from arterial.engine.plan.plan import Plan
from arterial.engine.run.states import FAILED
from arterial.engine.run.watch.watchers import LOG_LEVELS, Watch, Watcher
from arterial.errors import RunError
from arterial.figures.bottlenecks import bottlenecks
from arterial.figures.steering import Steering
from arterial.figures.step import StepFigures
from arterial.figures.window import Window
from arterial.version import __version__

if TYPE_CHECKING:
    from arterial.engine.run.figures.status import Status

MOST_BYTES = 16 << 20
"""How long the file may become; there are two of them at most."""
SAMPLE_SECONDS = 10.0
"""At level `info`, a step is logged at most once in so many seconds."""

DEBUG, INFO, WARNING = LOG_LEVELS

# `sasl_password_env=NAME` only names what holds a secret.
_SECRETS = (
    (re.compile(r"(\w://)[^\s/@]+@"), r"\1…@"),
    (
        re.compile(
            r"""(?i)((?:passw|secret|token|api_?key|credential)[\w.-]*(?<!_env)(?<!_file)(?<!\.provider)['"]?\s*[=:]\s*)"""
            r"[^\s&;,]+"
        ),
        r"\1…",
    ),
)
_BOX = re.compile(r"\bbox '([^']+)'")


def without_secrets(text: str) -> str:
    """A text in which what looks like a password is left out.

    >>> without_secrets("cannot reach postgresql://me:hush@db/x?sslpassword=hush&a=1")
    'cannot reach postgresql://…@db/x?sslpassword=…&a=1'
    >>> without_secrets("kafka://broker:9093/reports?sasl_password_file=/run/secrets/kafka")
    'kafka://broker:9093/reports?sasl_password_file=/run/secrets/kafka'
    """
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


class LogWatcher(Watcher):
    """Writes the log of a run."""

    def __init__(self, watch: Watch, plan: Plan, run: str) -> None:
        assert watch.log is not None
        self._lines: _Lines = _Standard() if watch.log == "-" else LogFile(Path(watch.log), said_lost=self._lost_lines)
        self._format, self._least = watch.log_format, LOG_LEVELS.index(watch.log_level)
        self._plan, self._run = plan, run
        self._step = self._version = 0
        self._said = float("-inf")
        self._sources: dict[str, str] = {}
        self._decided = Steering()
        self._noticed: set[str] = set()
        self._messages = _Messages(self)
        logging.getLogger("arterial").addHandler(self._messages)

    def begin(self, status: Status) -> None:
        """The run takes up its work."""
        self._step, self._version = status.step, status.network_version
        self.say(
            INFO,
            "resumed" if status.restarts else "started",
            network=status.network,
            arterial=__version__,
            process=status.pid,
            boxes=len(self._plan.network.boxes),
            sources=[box.name for box in self._plan.sources],
            outputs=[box.name for box in self._plan.outputs],
            shards=self._plan.shards,
            restarts=status.restarts,
        )

    def step(self, figures: StepFigures, status: Status, decided: Steering) -> None:
        """A step is done."""
        self._step = figures.step
        if figures.version != self._version:
            self.say(INFO, "version", version=figures.version, before=self._version)
            self._version = figures.version
        for name, source in figures.sources.items():
            state = "ended" if source.share == 1 else "reading" if source.tuples else "idle"
            if state != self._sources.get(name) and (state != "idle" or name in self._sources):
                self._sources[name] = state
                self.say(DEBUG if state == "idle" else INFO, "source", source=name, state=state)
        if figures.rejects:
            self.say(WARNING, "set aside", tuples=figures.rejects)
        if decided != self._decided:
            self._decided = decided
            drops = {arc: vars(drop) for arc, drop in decided.shed.items()}
            self.say(INFO, "decision", admit=dict(decided.admit), hold=dict(decided.hold), shed=drops)
        now = time.monotonic()
        sampled = now - self._said >= SAMPLE_SECONDS
        if sampled or self._least == 0:
            self._said = now if sampled else self._said
            worst = next((b for b in bottlenecks(Window(0.0, [figures])) if b.get("box")), {})
            self.say(
                INFO if sampled else DEBUG,
                "step",
                **({"box": worst["box"]} if worst else {}),
                seconds=round(figures.seconds, 4),
                tuples_in=sum(source.tuples for source in figures.sources.values()),
                tuples_out=sum(output.tuples for output in figures.outputs.values()),
                delay=round(max((output.delay for output in figures.outputs.values()), default=0.0), 4),
                waiting=sum(source.waiting or 0 for source in figures.sources.values()),
                shed=sum(figures.shed.values()),
                held=sum(figures.held.values()),
                state_bytes=sum(slot.state_bytes for slot in figures.slots),
            )

    def become(self, status: Status) -> None:
        """The run has another state."""
        if status.is_active:
            self.say(INFO, status.state)
            return
        error: dict[str, Any] = {}
        if status.error:
            found = _BOX.search(status.error)
            error = {**({"box": found[1]} if found else {}), "error": status.error}
        self.say(
            WARNING if status.state == FAILED else INFO,
            "ended",
            state=status.state,
            tuples_in=sum(status.tuples_in.values()),
            tuples_out=sum(status.tuples_out.values()),
            set_aside=status.set_aside,
            **error,
        )

    def notices(self, said: Sequence[str]) -> None:
        """What the user should know about the sources, each once."""
        for notice in said:
            if notice not in self._noticed:
                self._noticed.add(notice)
                self.say(WARNING, "notice", message=notice)

    def close(self) -> None:
        """Log nothing more."""
        logging.getLogger("arterial").removeHandler(self._messages)
        self._lines.close()

    def say(self, level: str, event: str, **fields: Any) -> None:
        """Log an event, if its level is logged."""
        if LOG_LEVELS.index(level) < self._least:
            return
        self._lines.write(self._line(level, event, **fields))

    def _line(self, level: str, event: str, **fields: Any) -> str:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": at, "level": level, "run": self._run, "step": self._step, "event": event, **fields}
        return as_line(line, self._format)

    def _lost_lines(self, count: int) -> str:
        return self._line(WARNING, "lost", lines=count, message=f"{count} lines could not be written")


def as_line(line: Mapping[str, Any], how: str) -> str:
    """An event as a line of text or JSON; whatever it holds, it stays one line, without passwords."""
    clean = {name: _clean(value) for name, value in line.items()}
    if how == "json":
        return json.dumps(clean, ensure_ascii=False)
    head = f"{clean.pop('time')} {clean.pop('level').upper():7} {clean.pop('event')}"
    clean["run"] = clean["run"][:8]
    return " ".join([head, *(f"{name}={_shown(value)}" for name, value in clean.items())])


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {str(name): _clean(one) for name, one in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such number
    return [_clean(one) for one in value] if isinstance(value, list | tuple) else value


def _shown(value: Any) -> str:
    plain = isinstance(value, str) and re.fullmatch(r"[^\s\"'\\{}\[\]=]+", value)
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


class _Lines(Protocol):
    def write(self, line: str) -> None: ...

    def close(self) -> None: ...


class _Standard:
    """Lines on the standard error of that moment."""

    def write(self, line: str) -> None:
        """Print a line."""
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """It is not ours to close."""


class LogFile:
    """A bounded file of lines. What cannot be written, on a full disk say, is counted and said with the next line."""

    def __init__(
        self,
        path: Path,
        most_bytes: int = MOST_BYTES,
        said_lost: Callable[[int], str] = "({} lines could not be written)".format,
    ) -> None:
        self._path, self._most, self._said_lost, self._lock, self._lost = path, most_bytes, said_lost, Lock(), 0
        self._closed = False
        try:
            self._file = self._open()
        except OSError as fault:
            raise RunError(
                f"--log {path}: cannot be written: {fault.strerror}. Name a file in a folder that exists."
            ) from None

    def write(self, line: str) -> None:
        """Append a line."""
        with self._lock:
            if self._closed:
                return
            try:
                self._append(line.encode(errors="replace") + b"\n")
                self._lost = 0
            except OSError:
                self._lost += 1

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            self._closed = True
            self._let_go()

    def _append(self, content: bytes) -> None:
        if self._file < 0:
            self._file = self._open()
        if self._lost:
            content = self._said_lost(self._lost).encode(errors="replace") + b"\n" + content
        size = os.fstat(self._file).st_size
        if size and size + len(content) > self._most:
            self._let_go()
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._file, size = self._open(), 0
        try:
            while content:
                content = content[os.write(self._file, content) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, size)  # else the next line would begin in the midst of this one
            raise

    def _let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> int:
        # It names what a business counts, so it is for its owner.
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)


class _Messages(logging.Handler):
    """What the engine says through Python's own logging while the run is at work."""

    def __init__(self, log: LogWatcher) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Take a message over into the log."""
        level = WARNING if record.levelno >= logging.WARNING else INFO if record.levelno >= logging.INFO else DEBUG
        self._log.say(level, "message", message=record.getMessage())
