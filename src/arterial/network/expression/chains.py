"""How long the chains of `or` in a text are, found without reading it as SQL.

A chain nests once for each `or`, so one that is too long is refused before the reader has spent seconds on it.
"""

from __future__ import annotations

import re

_PIECES = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|[^\W\d]\w*|[(),;]""", re.DOTALL)
_ENDS = frozenset(
    {
        "case", "when", "then", "else", "end", "select", "from", "where", "group", "having", "order", "limit",
        "qualify", "join", "on", "union", "as", "by", "filter", ",", ";",
    }
)  # fmt: skip


def longest_or(text: str) -> int:
    """At least so many `or` stand in one chain.

    >>> longest_or("x = 1 or x = 2 and y = 3 or (a or b) or z = ' or '")
    3
    """
    if "$$" in text or "\\" in text:
        return 0  # texts that are quoted in another way; the reader finds what is in them
    longest, open_ones = 0, [0]
    for piece in _PIECES.finditer(text):
        word = piece[0].lower()
        if word == "or":
            open_ones[-1] += 1
            longest = max(longest, open_ones[-1])
        elif word == "(":
            open_ones.append(0)
        elif word == ")" and len(open_ones) > 1:
            open_ones.pop()
        elif word in _ENDS:
            open_ones[-1] = 0
    return longest
