"""The tokens of a query, each with its place in the text."""

from __future__ import annotations

from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token  # type: ignore[attr-defined]

from arterial.network.expression.parser import Dialect
from arterial.sql.text.mistake import Place, SqlError


def tokenize(text: str, written: str) -> list[Token]:
    """The tokens of a text; an error shows the text as it was written."""
    try:
        return list(Dialect().tokenize(text))
    except SqlglotError:
        raise SqlError("this cannot be read as SQL", written, Place(0, len(written))) from None


def place_of(token: Token) -> Place:
    """Where a token stands."""
    return Place(token.start, token.end + 1)
