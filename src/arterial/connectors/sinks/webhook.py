"""A webhook: each step's tuples are posted as JSON, at least once, with a key by which the server can drop repeats."""

from __future__ import annotations

import json
import os
import random
import ssl
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlsplit

import polars as pl

from arterial.connectors.sinks.driver import DriverSink
from arterial.connectors.sinks.files.json_lines import write_json_lines
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.storage.appended import append_to, writing
from arterial.storage.place import make_folder, put_in_place
from arterial.storage.remote import is_remote, path_of

SHAPES = ("array", "object")
LONGEST_WAIT_SECONDS = 60.0
_FIRST_WAIT_SECONDS = 0.5
_TRY_AGAIN = {408, 425, 429}
_REASON_LENGTH = 500


@dataclass(frozen=True)
class _Reply:
    """What came of a request: a status, or none if the connection failed; and what the server or the system said."""

    status: int
    text: str
    wait: float = 0.0

    @property
    def taken(self) -> bool:
        return 200 <= self.status < 300

    @property
    def may_change(self) -> bool:
        return self.status == 0 or self.status >= 500 or self.status in _TRY_AGAIN


class WebhookSink(DriverSink):
    """Posts the tuples of each step, in the order of time, as JSON arrays of at most `rows`, or one object a request.

    Every request has the header `Idempotency-Key: RUN/OUTPUT/STEP/NUMBER`, which is the same when it is repeated. A
    request that fails (no connection, `timeout` seconds without an answer, a status of 5xx, 408, 425 or 429) is
    repeated up to `attempts` times, after waits that double, with jitter, or as long as the server asks in Retry-After.
    What is refused, or fails each time, goes to the file `dead_letters` (by default in the checkpoint), and the run
    goes on. Redirects are refused and proxies are not used. `authorization_env` names an environment variable with the
    value of the header Authorization; USER:PASSWORD@ in the address is sent as basic authentication.
    """

    def __init__(
        self,
        url: str,
        *,
        shape: str = "array",
        rows: int = 1000,
        timeout: float = 10.0,
        attempts: int = 8,
        dead_letters: str | Path = "",
        authorization_env: str = "",
    ) -> None:
        super().__init__()
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RunError("a webhook's address is http://HOST… or https://HOST…")
        self.place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"  # paths of webhooks are often secret
        if shape not in SHAPES:
            raise RunError(f"webhook at {self.place}: the shape is {shape!r}; expected {' or '.join(SHAPES)}")
        if rows < 1 or attempts < 1 or timeout <= 0:
            raise RunError(f"webhook at {self.place}: rows, attempts and timeout must be positive")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if "@" in parts.netloc else ""
        self.shape, self.rows, self.timeout, self.attempts = shape, rows, timeout, attempts
        self.dead_letters, self.authorization_env = path_of(dead_letters), authorization_env
        self._in_checkpoint = not dead_letters
        self._connection: HTTPConnection | None = None
        self._reported = False

    def bind(self, output: str, stream: Stream, folder: Path) -> WebhookSink:
        """Check what can be checked without a request."""
        super().bind(output, stream, folder)
        if self.authorization_env and self.authorization_env not in os.environ:
            raise RunError(
                f"{self._where}: the environment variable {self.authorization_env} (authorization_env) is not set"
            )
        if self._in_checkpoint:
            self.dead_letters = folder / "sinks" / output / "dead-letters.jsonl"
        with writing(self.dead_letters):
            self.dead_letters = self.dead_letters.absolute()
            make_folder(self._letters if is_remote(self.dead_letters) else self.dead_letters.parent)
        return self

    def put(self, step: int, tuples: pl.DataFrame) -> None:
        """Post the tuples, and note the step."""
        try:
            for number, body in enumerate(self._bodies(tuples)):
                self._post(f"{self.run}/{self.output}/{step}/{number}", body)
        finally:
            self._disconnect()
        self.note(step)

    def _bodies(self, tuples: pl.DataFrame) -> Iterator[bytes]:
        for some in tuples.iter_slices(self.rows):
            content = BytesIO()
            write_json_lines(some, content)
            lines = content.getvalue().splitlines()
            if self.shape == "object":
                yield from lines
            else:
                yield b"[" + b",".join(lines) + b"]"

    def _post(self, key: str, body: bytes) -> None:
        attempt, reply = 0, _Reply(0, "")
        while attempt < self.attempts:
            attempt += 1
            reply = self._request(key, body)
            if reply.taken:
                return
            if not reply.may_change:
                break
            if attempt < self.attempts:
                longest = min(LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2 ** (attempt - 1))
                time.sleep(max(min(reply.wait, LONGEST_WAIT_SECONDS), random.uniform(longest / 2, longest)))
        letter = {"key": key, "attempts": attempt, "status": reply.status, "reason": reply.text}
        line = json.dumps(letter).encode()[:-1] + b', "body": ' + body + b"}\n"
        with writing(self.dead_letters):
            if is_remote(self.dead_letters):  # where a file that grows is written again each time
                name = "-".join(part.zfill(9) for part in key.split("/")[-2:])
                put_in_place(self._letters / f"{name}.jsonl", line)
            else:
                append_to(self.dead_letters, BytesIO(line))
        if not self._reported:
            self._reported = True
            kept = self._letters if is_remote(self.dead_letters) else self.dead_letters
            said = f"{self._where}: {reply.status or ''} {reply.text}".rstrip()
            sys.stderr.write(f"{said}; requests that are not taken are kept in {kept}\n")

    def _request(self, key: str, body: bytes) -> _Reply:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key, "User-Agent": "arterial"}
        if self.authorization_env:
            headers["Authorization"] = os.environ[self.authorization_env]
        elif self._user:
            headers["Authorization"] = f"Basic {b64encode(self._user.encode()).decode()}"
        try:
            connection = self._connect()
            connection.request("POST", self._target, body, headers)
            response = connection.getresponse()
            text = response.read(1 << 20).decode(errors="replace")[:_REASON_LENGTH]
            if response.will_close or not response.isclosed():
                self._disconnect()
            if 300 <= response.status < 400:
                text = f"a redirect, which is not followed: {text}"
            wait = response.headers.get("Retry-After", "")
            return _Reply(response.status, text or response.reason, float(wait) if wait.isdigit() else 0.0)
        except (OSError, HTTPException) as fault:
            self._disconnect()
            return _Reply(0, f"{type(fault).__name__}: {fault}"[:_REASON_LENGTH])

    def _connect(self) -> HTTPConnection:
        if self._connection is None:
            if self._secure:
                context = ssl.create_default_context()
                self._connection = HTTPSConnection(self._host, self._port, timeout=self.timeout, context=context)
            else:
                self._connection = HTTPConnection(self._host, self._port, timeout=self.timeout)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _letters(self) -> Path:
        """In a store: the folder of dead letters, each a file."""
        return self.dead_letters.with_suffix("")

    @property
    def _where(self) -> str:
        return f"output {self.output!r}: webhook at {self.place}"
