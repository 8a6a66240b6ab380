"""Starts the studio: binds, prints the address, serves until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from arterial.errors import MachineError
from arterial.studio.app import make_app
from arterial.studio.connection import Connection
from arterial.studio.guard import MOST_BYTES, is_loopback, own_names
from arterial.studio.subject import Subject


class Studio:
    """A studio that can be served in this thread (`serve`) or beside it (`start`, `stop`)."""

    def __init__(self, subject: Subject, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        open_to_others = not is_loopback(host)
        self.token = token or (secrets.token_urlsafe(24) if open_to_others else None)
        self._socket = _bind(host, port)
        self._host = host
        names = (host, *own_names()) if open_to_others else ()
        config = uvicorn.Config(
            make_app(subject, hosts=names, token=self.token),
            log_level="warning",
            access_log=False,  # it would show the token in the address
            server_header=False,
            ws=Connection,
            ws_max_size=MOST_BYTES,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """What to open; with the token, if there is one."""
        port = self._socket.getsockname()[1]
        host = "127.0.0.1" if self._host in ("0.0.0.0", "::") else self._host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{port}/" + (f"?token={self.token}" if self.token else "")

    def serve(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until Ctrl-C."""
        threading.Timer(0.3, ready).start()
        self._server.run(sockets=[self._socket])

    def start(self) -> Studio:
        """Serve in a thread of this process."""
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End what `start` began."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
        self._socket.close()


def open_browser(address: str) -> None:
    """Show the page, if this machine has a browser."""
    webbrowser.open(address)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as fault:
        bound.close()
        raise MachineError(
            f"the studio cannot listen at {host}:{port}: {fault.strerror}; another --port may be free"
        ) from None
    bound.listen(128)
    return bound
