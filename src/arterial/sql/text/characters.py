"""The text of a query as it is typed, and as it is read: what a word processor or a paper makes of quotes and dashes is
plain SQL again, character by character, so that every place stays where it was.
"""

from __future__ import annotations

from arterial.sql.text.mistake import Place, SqlError

_DASHES = dict.fromkeys("‐‑‒–—−", "-")
_SPACES = dict.fromkeys("\u00a0\u2007\u2009\u202f\ufeff", " ")
_SINGLE, _DOUBLE = "'‘’‚‛′`", '"“”„‟″'


def plain(text: str) -> str:
    """The text with plain quotes, dashes and spaces outside of quotes; of the same length.

    >>> plain("GPAC–kNN (‘M’, 5, −3)")
    "GPAC-kNN ('M', 5, -3)"
    >>> plain("name = 'the café’s'")
    "name = 'the café’s'"
    """
    made: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign in _SINGLE or sign in _DOUBLE:
            end = _closing(text, at)
            mark = "'" if sign in _SINGLE else '"'
            made += [mark, *text[at + 1 : end], mark]
            at = end + 1
        elif text.startswith("--", at):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            made += text[at:end]
            at = end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise SqlError("this comment has no end; expected */", text, Place(at, at + 2))
            made += text[at : end + 2]
            at = end + 2
        else:
            made.append(_DASHES.get(sign) or _SPACES.get(sign) or sign)
            at += 1
    return "".join(made)


def _closing(text: str, at: int) -> int:
    """Where the quote that opens here is closed: a plain one by itself (twice is one inside), others by their like."""
    sign = text[at]
    closers = sign if sign in "'\"" else _SINGLE if sign in _SINGLE else _DOUBLE
    end = at + 1
    while end < len(text):
        if text[end] in closers:
            if closers == sign and text[end + 1 : end + 2] == sign:
                end += 1
            else:
                return end
        end += 1
    raise SqlError(f"this quote is not closed; expected another {sign}", text, Place(at, at + 1))
