"""The end of live input is said, never guessed: a sender that was killed closes its connection as if it were done."""

from __future__ import annotations

MARKER = "#end"
"""The line by which a sender says that it is done, unless another was agreed on."""


class Ending:
    """Finds the marker in pieces of a stream, wherever they are cut.

    >>> ending = Ending()
    >>> ending.feed(b"1,2\\n#en"), ending.feed(b"d\\nmore")
    (b'1,2\\n', b'')
    >>> ending.found
    True
    """

    def __init__(self, marker: str = MARKER) -> None:
        self.marker = marker.encode()
        self.found = False
        self._held = b""
        self._at_line = True

    def feed(self, data: bytes) -> bytes:
        """What lies before the marker; the beginning of a line that may become one is held back."""
        if self.found:
            return b""
        if self._held:
            data, self._held = self._held + data, b""
        if not data:
            return b""
        place = self._find(data)
        if place >= 0:
            self.found = True
            return data[:place]
        last = data.rfind(b"\n") + 1
        tail = data[last:] if last or self._at_line else b""
        if tail and (self.marker + b"\r").startswith(tail):
            self._held, data = tail, data[:last]
        if data:
            self._at_line = data.endswith(b"\n")
        return data

    @property
    def rest(self) -> bytes:
        """What was held back and did not become the marker."""
        return self._held

    def _find(self, data: bytes) -> int:
        """Where the line of the marker begins, -1 if it is not there."""
        place = data.find(self.marker)
        while place >= 0:
            begins = data[place - 1 : place] == b"\n" if place else self._at_line
            after = data[place + len(self.marker) : place + len(self.marker) + 2]
            if begins and (after[:1] == b"\n" or after == b"\r\n"):
                return place
            place = data.find(self.marker, place + 1)
        return -1
