"""The GPAC clauses: found in the tokens of a query, read, and cut out, so that the rest is plain SQL (§5)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from arterial.sql.text.mistake import Place, SqlError
from arterial.sql.text.query import Clause, Inside, MovingRegion, Named, Nearest, NearestTo, NearestToMoving, Region
from arterial.sql.text.tokens import place_of, tokenize

IN_FORMS = "GPAC-IN (x1, y1, x2, y2) or GPAC-IN ('M', ID, xdist, ydist)"
KNN_FORMS = "GPAC-kNN (k, x, y) or GPAC-kNN ('M', k, ID)"
_NUMBER = re.compile(r"[+-]?\s*(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_WORDS = {"IN": "GPAC-IN", "KNN": "GPAC-kNN"}


@dataclass(frozen=True)
class Cut:
    """The GPAC clauses of a query, and its text with spaces in their place."""

    inside: Clause | None
    nearest: Clause | None
    rest: str


def cut_clauses(text: str, written: str) -> Cut:
    """Read the GPAC clauses. `text` has plain quotes and dashes; `written` is what errors show."""
    tokens = tokenize(text, written)
    found: dict[str, Clause] = {}
    rest = text
    at = 0
    while at < len(tokens):
        word, after = _word(tokens, at, written)
        if word is None:
            at += 1
            continue
        reader = _Reader(tokens, after, word, text, written)
        clause = reader.clause(place_of(tokens[at]))
        if word in found:
            raise SqlError(f"{_WORDS[word]} stands here a second time; a query has it once", written, clause.place)
        found[word] = clause
        blank = "".join(sign if sign == "\n" else " " for sign in text[clause.place.start : clause.place.end])
        rest = rest[: clause.place.start] + blank + rest[clause.place.end :]
        at = reader.at
    return Cut(found.get("IN"), found.get("KNN"), rest)


def read_area(text: str, written: str) -> Clause:
    """The arguments of a named area: `x1, y1, x2, y2` or `'M', ID, xdist, ydist`, with or without brackets."""
    tokens = tokenize(text, written)
    whole = Place(0, len(text))
    reader = _Reader(tokens, 0, "IN", text, written)
    bare = not tokens or tokens[0].token_type != TokenType.L_PAREN
    if bare:
        bracket = Token(TokenType.R_PAREN, ")", start=len(text), end=len(text))
        reader = _Reader([*tokens, bracket], 0, "IN", text, written)
        clause = reader.arguments(whole)
    else:
        clause = reader.clause(whole)
    if reader.at < len(tokens):
        raise SqlError("nothing may follow the area", written, place_of(tokens[reader.at]))
    return clause


def _word(tokens: list[Token], at: int, written: str) -> tuple[str | None, int]:
    """Which clause begins at a token, if any, and the token after its name."""
    name = tokens[at].text.upper()
    if tokens[at].token_type == TokenType.IDENTIFIER or not name.startswith("GPAC"):
        return None, at
    if name in ("GPAC_IN", "GPAC_KNN", "GPACIN", "GPACKNN"):
        return name.removeprefix("GPAC").removeprefix("_"), at + 1
    if name != "GPAC":
        return None, at
    dash = at + 1
    if dash < len(tokens) and tokens[dash].token_type == TokenType.DASH:
        word = tokens[dash + 1].text.upper() if dash + 1 < len(tokens) else ""
        if word in _WORDS:
            return word, dash + 2
        before = tokens[at - 1].token_type if at else None
        if before not in (TokenType.SELECT, TokenType.COMMA, TokenType.DOT):
            place = place_of(tokens[at]).to(place_of(tokens[min(dash + 1, len(tokens) - 1)]))
            raise SqlError(f"expected GPAC-IN or GPAC-kNN, got {written[place.start : place.end]!r}", written, place)
    return None, at


class _Reader:
    """Reads the arguments of one clause."""

    def __init__(self, tokens: list[Token], at: int, word: str, text: str, written: str) -> None:
        self.tokens, self.at, self.word, self.text, self.written = tokens, at, word, text, written
        self.name = _WORDS[word]
        self.forms = IN_FORMS if word == "IN" else KNN_FORMS

    def clause(self, begin: Place) -> Clause:
        """The clause from its name on."""
        token = self._token()
        if token is not None and self.word == "IN" and self._is_name(token):
            self.at += 1
            return Clause(Named(token.text), begin.to(place_of(token)))
        if token is None or token.token_type != TokenType.L_PAREN:
            raise self._error(f"expected ( after {self.name}: {self.forms}", token)
        self.at += 1
        return self.arguments(begin)

    def arguments(self, begin: Place) -> Clause:
        """What stands between the brackets."""
        groups: list[list[Token]] = [[]]
        while True:
            token = self._token()
            if token is None:
                raise self._error(f"the brackets of {self.name} are not closed; expected )", None)
            self.at += 1
            if token.token_type == TokenType.R_PAREN:
                break
            if token.token_type == TokenType.COMMA:
                groups.append([])
            else:
                groups[-1].append(token)
        place = Place(begin.start, min(token.end + 1, len(self.text)))
        if len(groups) == 1 and not groups[0]:
            raise SqlError(f"{self.name} has no arguments; expected {self.forms}", self.written, place)
        for number, group in enumerate(groups, 1):
            if not group:
                raise SqlError(f"argument {number} of {self.name} is empty; expected {self.forms}", self.written, place)
        moving = _is_flag(groups[0])
        wanted = 4 if self.word == "IN" else 3
        if len(groups) != wanted:
            form = self.forms.split(" or ")[moving]
            raise SqlError(
                f"{self.name} has {len(groups)} arguments here, expected {wanted}: {form}", self.written, place
            )
        focal = _span(groups[1 if self.word == "IN" else 2]) if moving else None
        return Clause(self._what(groups, moving), place, focal)

    def _what(self, groups: list[list[Token]], moving: bool) -> Inside | Nearest:
        if self.word == "IN":
            if moving:
                length, width = (self._distance(groups[i], name) for i, name in ((2, "xdist"), (3, "ydist")))
                return MovingRegion(self._identity(groups[1]), length, width)
            x1, y1, x2, y2 = (self._number(group, n) for group, n in zip(groups, ("x1", "y1", "x2", "y2"), strict=True))
            return Region(x1, y1, x2, y2)
        if moving:
            return NearestToMoving(self._k(groups[1]), self._identity(groups[2]))
        return NearestTo(self._k(groups[0]), self._number(groups[1], "x"), self._number(groups[2], "y"))

    def _number(self, group: list[Token], name: str, expected: str = "a number") -> float:
        value = _value(self._said(group))
        if value is None:
            raise self._unfit(group, name, expected)
        return value

    def _distance(self, group: list[Token], name: str) -> float:
        value = self._number(group, name)
        if value < 0:
            raise self._unfit(group, name, "a distance from 0")
        return value

    def _k(self, group: list[Token]) -> int:
        value = self._number(group, "k", "a whole number from 1")
        if value < 1 or value != int(value) or value > 1e9:
            raise self._unfit(group, "k", "a whole number from 1")
        return int(value)

    def _identity(self, group: list[Token]) -> int | str:
        """The id of the focal object: a whole number, or a text in quotes, or one word."""
        if len(group) == 1 and (group[0].token_type == TokenType.STRING or self._is_name(group[0])):
            return str(group[0].text)
        said = "".join(self._said(group).split())
        if not said.lstrip("+-").isdigit() or _value(said) is None:
            raise self._unfit(group, "ID", "the id of an object, a whole number or a text in quotes")
        return int(said)

    def _said(self, group: list[Token]) -> str:
        place = _span(group)
        return self.text[place.start : place.end]

    def _unfit(self, group: list[Token], name: str, expected: str) -> SqlError:
        place = _span(group)
        got = self.written[place.start : place.end]
        return SqlError(f"{name} of {self.name}: expected {expected}, got {got}", self.written, place)

    def _is_name(self, token: Token) -> bool:
        return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) or (
            token.text.isidentifier() and token.token_type not in _RESERVED
        )

    def _token(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _error(self, what: str, token: Token | None) -> SqlError:
        if token is None:
            return SqlError(f"{what}; the text ends here", self.written, Place(len(self.written.rstrip()), 0))
        return SqlError(f"{what}; got {token.text!r}", self.written, place_of(token))


_RESERVED = (
    TokenType.GROUP_BY, TokenType.HAVING, TokenType.WHERE, TokenType.FROM, TokenType.SELECT, TokenType.JOIN,
    TokenType.ORDER_BY, TokenType.LIMIT, TokenType.NUMBER, TokenType.STRING,
)  # fmt: skip


def _is_flag(group: list[Token]) -> bool:
    """Whether the first argument is the M of a moving query: quoted in any way, or bare."""
    return len(group) == 1 and group[0].text.upper() == "M" and group[0].token_type != TokenType.NUMBER


def _value(text: str) -> float | None:
    """The number that an argument is, with its sign."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float("".join(text.split()))
    return value if math.isfinite(value) else None


def _span(group: list[Token]) -> Place:
    return place_of(group[0]).to(place_of(group[-1]))
