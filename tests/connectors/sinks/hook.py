"""A small server on loopback that takes what is posted, or misbehaves as a test asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

DROP, DELAY = "drop the connection", "answer too late"


class Webhook:
    """Keeps the key and the body of each request that it takes; `answers` says what it does with the next ones.

    An answer is a status, a pair of a status and headers, `DROP` or `DELAY`.
    """

    def __init__(self, answers: Sequence[Any] = ()) -> None:
        self.answers = list(answers)
        self.taken: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.delay = 0.0
        self._over = Event()
        self._port = 0
        self.open()
        self.url = f"http://127.0.0.1:{self._port}/hook?for=us"

    def open(self) -> None:
        """Start it, at the port that it had before."""
        self._over.clear()
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler())
        self._server.daemon_threads = True
        self._port = self._server.server_port
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop it."""
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                key = self.headers["Idempotency-Key"]
                hook.asked.append((key, self.path, dict(self.headers.items())))
                hook._over.wait(hook.delay)
                answer = hook.answers.pop(0) if hook.answers else 200
                if answer == DROP:
                    self.close_connection = True
                    return
                if answer == DELAY:
                    hook._over.wait(3)
                    self.close_connection = True
                    return
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                if status == 200:
                    hook.taken.append((key, body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                said = b"no more" if status != 200 else b"ok"
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
