"""The socket of a page, which is cut when its other end takes nothing for long.

To close it is not enough: what was not taken yet would go out first, and so would the goodbye.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

STALLED_SECONDS = 20.0
"""A page that takes nothing for so long is let go; one that takes a little is only slow."""


_AT_ONCE = struct.pack("ii", 1, 0)


class Connection(WebSocketsSansIOProtocol):
    """A WebSocket of the server; while it is full, it is looked at now and then."""

    _timer: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """It is full: see whether anything is taken from it."""
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        """There is room again."""
        self._look_no_more()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._look_no_more()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        self._look_no_more()
        left = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(STALLED_SECONDS, self._look, left)

    def _look(self, before: int) -> None:
        if self.transport.get_write_buffer_size() >= before:
            # The system would keep what was not taken, too, and wait for its other end.
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self.transport.abort()
        else:
            self._look_later()

    def _look_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
