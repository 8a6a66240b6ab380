"""Every mistake that a user can make is an `ArterialError`; the commands print its message and no traceback.

A message says where (network, box, file:line), what was expected, what came, and what to do next. Elsewhere:
`sql.mistake` has the errors of a query's text, `engine.host.failures` what happens when a box fails on a tuple, and
`engine.spark.errors` brings an error from a task to the user.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class ArterialError(Exception):
    """The root of all errors that a user can fix; names of thousands of signs are shortened in its message."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(brief(one) if isinstance(one, str) else one for one in arguments))


class DataError(ArterialError):
    """A file or folder of input is missing, unreadable, or not what it should be."""


class MachineError(ArterialError):
    """The machine lacks something: Java, memory, disk, write access."""


class NetworkError(ArterialError):
    """A network is not well formed; the message names the box, the arc, what was expected and what came."""


class RunError(ArterialError):
    """A run cannot start or go on: a box failed on a tuple, a checkpoint does not fit, a sink is full."""


def brief(message: str) -> str:
    """A message that may contain names of any length, in a length that can be read.

    >>> len(brief(f"there is no box {'x' * 100_000!r}; the boxes are: a, b"))
    183
    """
    if len(message) <= _LONG_MESSAGE:
        return message
    message = _LONG_WORD.sub(lambda word: f"{word[0][:_SHOWN]}…({len(word[0]):,} signs)…{word[0][-10:]}", message)
    if len(message) <= _LONGEST_MESSAGE:
        return message
    half = _LONGEST_MESSAGE // 2
    return f"{message[:half]} …({len(message) - 2 * half:,} more signs)… {message[-half:]}"


_LONG_MESSAGE, _LONGEST_MESSAGE = 2_000, 4_000
_SHOWN = 120
_LONG_WORD = re.compile(r"\S{300,}")


def plain(text: object) -> str:
    """A text without signs that a terminal would act on; lines stay lines.

    >>> plain("a\\x1b[31m b")
    'a\\\\x1b[31m b'
    """
    return "".join(sign if sign.isprintable() or sign in "\n\t" else repr(sign)[1:-1] for sign in str(text))


def near(name: str, names: Iterable[str]) -> str:
    """A hint at the name that may have been meant, to end a message with; empty if none is near.

    >>> near("sped", ["time", "speed"])
    "; did you mean 'speed'?"
    """
    known = {one.lower(): one for one in names}
    found = difflib.get_close_matches(name.lower(), known, 1)
    return f"; did you mean {known[found[0]]!r}?" if found else ""
