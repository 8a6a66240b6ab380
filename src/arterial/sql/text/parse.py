"""Reads the text of a query: the GPAC clauses are cut out first, the rest is SQL as sqlglot reads it.

A double-quoted word is a name, as in SQL; the paper's `M.type = "truck"` is distinguished when names are looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from arterial.network.expression.chains import longest_or
from arterial.network.expression.parser import MOST_LEVELS, MOST_SIGNS, Dialect
from arterial.sql.text.characters import plain
from arterial.sql.text.clauses import cut_clauses
from arterial.sql.text.mistake import Place, SqlError
from arterial.sql.text.query import From, Item, Order, Query, Window
from arterial.sql.text.tokens import place_of, tokenize

NOWHERE = Place(0, 1)
_FUNCTION = re.compile(r"\w+\s*\(\s*$")
FORM = "SELECT … FROM … WHERE … GROUP BY … GPAC-IN (…) GPAC-kNN (…)"


def parse_query(text: str) -> Query:
    """The query that a text says.

    >>> query = parse_query("SELECT M.ObjectID FROM MovingObjects M GPAC-IN (0, 10, 10, 0)")
    >>> query.inside.what
    Region(x1=0.0, y1=10.0, x2=10.0, y2=0.0)
    """
    with readable_depth(text):
        return _query(text)


@contextmanager
def readable_depth(text: str) -> Iterator[None]:
    """A query that is very long, or nested deeper than Python can follow, is a mistake in its text."""
    if len(text) > MOST_SIGNS:
        raise SqlError(f"the query has {len(text):,} signs; expected at most {MOST_SIGNS:,}", text, NOWHERE)
    if longest_or(text) > MOST_LEVELS:
        what = f"a condition is nested more than {MOST_LEVELS} levels deep; use IN (…) instead of many OR"
        raise SqlError(what, text, NOWHERE)
    try:
        yield
    except RecursionError:
        raise SqlError("the query is nested too deep", text, NOWHERE) from None


def _query(text: str) -> Query:
    typed = plain(text)
    cut = cut_clauses(typed, text)
    tokens = tokenize(cut.rest, text)
    if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    _check_form(tokens, text)
    begin = next(token.start for token in tokens if token.token_type == TokenType.FROM)
    for clause in (cut.inside, cut.nearest):
        if clause is not None and clause.place.start < begin:
            raise SqlError("a GPAC clause stands after FROM and WHERE", text, clause.place)
    select = _parse(_without_keyword(cut.rest, tokens), tokens, text)
    reader = _Reader(select, tokens, text)
    return Query(
        text=text,
        items=reader.items(),
        distinct=reader.distinct(),
        relations=reader.relations(),
        conditions=reader.conditions(),
        groups=reader.groups(),
        grouped=select.args.get("group") is not None,
        having=reader.having(),
        inside=cut.inside,
        nearest=cut.nearest,
        window=reader.window(),
        order=reader.order(),
    )


def place_of_part(part: Any, text: str, default: Place = NOWHERE) -> Place:
    """Where a part of an expression stands: from its first token that has a place to its last."""
    known = [one.meta for one in part.walk() if "start" in one.meta]
    if not known:
        return default
    start, end = min(meta["start"] for meta in known), max(meta["end"] for meta in known) + 1
    if isinstance(part, exp.Func) and "start" not in part.meta:
        name = _FUNCTION.search(text, 0, start)
        start = name.start() if name else start
    return Place(start, end)


_FOREIGN = {
    TokenType.OFFSET: "OFFSET",
    TokenType.WITH: "WITH",
    TokenType.UNION: "UNION",
    TokenType.EXCEPT: "EXCEPT",
    TokenType.INTERSECT: "INTERSECT",
    TokenType.QUALIFY: "QUALIFY",
    TokenType.WINDOW: "WINDOW",
    TokenType.OVER: "OVER",
    TokenType.LEFT: "an outer join; write JOIN … ON",
    TokenType.RIGHT: "an outer join; write JOIN … ON",
    TokenType.FULL: "an outer join; write JOIN … ON",
    TokenType.NATURAL: "NATURAL; write JOIN … ON",
    TokenType.USING: "USING; write ON a.x = b.x",
}


WINDOWS = {"TUMBLE": ("every",), "HOP": ("every", "over"), "SESSION": ("gap",)}
"""The windows, and what stands after the time."""

_SESSION = "_ESSION"
"""SESSION as sqlglot gets it, of the same length, since the word is a keyword to it."""


def _without_keyword(rest: str, tokens: list[Token]) -> str:
    for token, after in pairwise(tokens):
        if token.text.upper() == "SESSION" and after.token_type == TokenType.L_PAREN:
            rest = rest[: token.start] + _SESSION + rest[token.end + 1 :]
    return rest


def _check_form(tokens: list[Token], text: str) -> None:
    if not tokens:
        raise SqlError(f"the query is empty; expected {FORM}", text, Place(0, 1))
    first = tokens[0]
    if first.token_type != TokenType.SELECT and first.token_type not in _FOREIGN:
        raise SqlError(f"expected SELECT, got {first.text!r}; a query is {FORM}", text, place_of(first))
    for token in tokens[1:]:
        if token.token_type == TokenType.SEMICOLON:
            raise SqlError("expected one query; another follows here", text, place_of(token))
        if token.token_type == TokenType.SELECT:
            raise SqlError("a query inside a query is not supported", text, place_of(token))
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type in _FOREIGN and not (after and after.token_type == TokenType.L_PAREN):
            raise SqlError(f"a continuous query does not support {_FOREIGN[token.token_type]}", text, place_of(token))
    if not any(token.token_type == TokenType.FROM for token in tokens):
        ends = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)
        next_clause = next((place_of(token) for token in tokens if token.token_type in ends), None)
        raise SqlError("expected FROM and the stream to ask", text, next_clause or _end(text))


def _end(text: str) -> Place:
    end = len(text.rstrip().removesuffix(";").rstrip())
    return Place(end, end + 1)


def _parse(rest: str, tokens: list[Token], text: str) -> exp.Select:
    try:
        parsed = sqlglot.parse(rest, read=Dialect)
    except ParseError as error:
        raise _readable(error, tokens, text) from None
    except SqlglotError:  # a text in the query that sqlglot cuts into tokens once more
        raise SqlError("this cannot be read as SQL", text, _end(text)) from None
    select = parsed[0]
    if not isinstance(select, exp.Select):
        raise SqlError(f"expected {FORM}", text, place_of(tokens[0]))
    return select


def _readable(error: ParseError, tokens: list[Token], text: str) -> SqlError:
    """What sqlglot has to say, in plain words and at its place."""
    said = error.errors[0] if error.errors else {}
    at = next((i for i, t in enumerate(tokens) if (t.line, t.col) == (said.get("line"), said.get("col"))), None)
    what = str(said.get("description", error))
    if at is None:
        return SqlError("this cannot be read as SQL", text, _end(text))
    token = tokens[at]
    # sqlglot names the token that it could not use, or the last one if it wanted more.
    got = "the text ends here" if at + 1 == len(tokens) else f"got {token.text!r}"
    place = _end(text) if at + 1 == len(tokens) else place_of(token)
    if what.startswith("Expecting "):
        return SqlError(f"expected {what.removeprefix('Expecting ')}; {got}", text, place)
    if what.startswith(("Required", "Expected")):
        wanted = "the name of a stream or table" if "table" in what else "an expression"
        return SqlError(f"expected {wanted}; {got}", text, place)
    return SqlError(f"did not expect {token.text!r} here", text, place_of(token))


class _Reader:
    """Takes the clauses of a query apart."""

    def __init__(self, select: exp.Select, tokens: list[Token], text: str) -> None:
        self.select, self.tokens, self.text = select, tokens, text

    def items(self) -> tuple[Item, ...]:
        default = self._keyword(TokenType.SELECT)
        if not self.select.expressions:
            raise SqlError("expected what to select: columns, *, or aggregates", self.text, self._after(default))
        items = []
        for part in self.select.expressions:
            named = isinstance(part, exp.Alias)
            expression = part.this if named else part
            place = place_of_part(expression, self.text, default)
            items.append(Item(expression, part.alias if named else None, place))
        return tuple(items)

    def distinct(self) -> bool:
        distinct = self.select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise SqlError("DISTINCT ON is not supported", self.text, self._keyword(TokenType.DISTINCT))
        return distinct is not None

    def relations(self) -> tuple[From, ...]:
        default = self._keyword(TokenType.FROM)
        begin = self.select.args.get("from_") or self.select.args.get("from")
        if begin is None:
            raise SqlError("expected FROM and the stream to ask", self.text, default)
        tables = [begin.this, *(join.this for join in self.select.args.get("joins") or ())]
        relations: list[From] = []
        for table in tables:
            place = place_of_part(table, self.text, default)
            if isinstance(table, exp.Table) and _window_word(table.this) is not None:
                relations.append(self._windowed(table, relations))
                continue
            if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or table.db:
                raise SqlError("expected the name of a stream or table", self.text, place)
            if table.args.get("joins"):
                raise SqlError("expected the name of a stream or table, without brackets", self.text, place)
            relations.append(self._named(From(table.name, table.alias or table.name, place), relations))
        return tuple(relations)

    def _named(self, named: From, others: list[From]) -> From:
        """A relation, if no other has its name."""
        if any(named.alias.lower() == other.alias.lower() for other in others):
            raise SqlError(
                f"two streams are called {named.alias!r}; give one another name: {named.name} A", self.text, named.place
            )
        return named

    def _windowed(self, table: exp.Table, others: list[From]) -> From:
        """`TUMBLE(stream, time, every) alias`, `HOP(stream, time, every, over)`, `SESSION(stream, time, gap, key…)`."""
        call = table.this
        nth = sum(one.window is not None for one in others)
        words = [place_of(token) for token in self.tokens if token.text.upper() in WINDOWS]
        place = words[nth] if nth < len(words) else self._keyword(TokenType.FROM)
        word = str(_window_word(call))
        form = f"{word}(stream, time, {', '.join(WINDOWS[word])}{', key…' if word == 'SESSION' else ''})"
        stream, *rest = call.expressions or [None]
        wanted = len(WINDOWS[word]) + 1
        key = tuple(rest[wanted:])
        if len(rest) < wanted or (key and word != "SESSION") or not isinstance(stream, exp.Column) or stream.table:
            raise SqlError(f"in FROM expected {form}", self.text, place)
        for one in key:
            if not isinstance(one, exp.Column) or one.table:
                raise SqlError(
                    "a key of SESSION is a column of its stream", self.text, place_of_part(one, self.text, place)
                )
        name = stream.name
        window = Window(word, rest[0], tuple(self._duration(one, place) for one in rest[1:wanted]), place, key)
        where = place_of_part(stream, self.text, place)
        return self._named(From(name, table.alias or name, where, window), others)

    def conditions(self) -> tuple[exp.Expression, ...]:
        found: list[exp.Expression] = []
        for join in self.select.args.get("joins") or ():
            if join.args.get("on") is not None:
                found += _conjuncts(join.args["on"])
        where = self.select.args.get("where")
        if where is not None:
            found += _conjuncts(where.this)
        return tuple(found)

    def groups(self) -> tuple[exp.Expression, ...]:
        group = self.select.args.get("group")
        if group is None:
            return ()
        place = self._keyword(TokenType.GROUP_BY)
        if any(group.args.get(kind) for kind in ("rollup", "cube", "grouping_sets", "all", "totals")):
            raise SqlError("GROUP BY takes columns and expressions only", self.text, place)
        if not group.expressions:
            raise SqlError("expected what to group by", self.text, self._after(place))
        return tuple(part for part in group.expressions if _window_word(part) is None)

    def window(self) -> Window | None:
        group = self.select.args.get("group")
        found = [part for part in (group.expressions if group else ()) if _window_word(part) is not None]
        for part in self.select.find_all(exp.Anonymous):
            if _window_word(part) is not None and part not in found and not isinstance(part.parent, exp.Table):
                raise SqlError("a window stands in GROUP BY, or in FROM", self.text, self._word_of(part))
        if not found:
            return None
        if len(found) > 1:
            raise SqlError("expected one window; another follows here", self.text, self._word_of(found[1]))
        part, place = found[0], self._word_of(found[0])
        word = str(_window_word(part))
        wanted = WINDOWS[word]
        if len(part.expressions) != len(wanted) + 1:
            form = f"{word}(time, {', '.join(wanted)})"
            raise SqlError(f"expected {form}, got {len(part.expressions)} arguments", self.text, place)
        durations = tuple(self._duration(one, place) for one in part.expressions[1:])
        return Window(word, part.expressions[0], durations, place)

    def order(self) -> Order | None:
        order, limit = self.select.args.get("order"), self.select.args.get("limit")
        if order is None and limit is None:
            return None
        if order is None or limit is None:
            lacks, has = ("ORDER BY", TokenType.LIMIT) if order is None else ("LIMIT", TokenType.ORDER_BY)
            raise SqlError(f"ORDER BY and LIMIT belong together; expected {lacks} too", self.text, self._keyword(has))
        place = self._keyword(TokenType.ORDER_BY)
        if len(order.expressions) != 1:
            raise SqlError("expected one expression to order by", self.text, place)
        by, count = order.expressions[0], limit.expression
        if not (isinstance(count, exp.Literal) and not count.is_string and count.name.isdigit() and int(count.name)):
            raise SqlError("expected a whole number above 0", self.text, self._after(self._keyword(TokenType.LIMIT)))
        return Order(by.this, bool(by.args.get("desc")), int(count.name), place_of_part(by, self.text, place))

    def _word_of(self, part: exp.Expression) -> Place:
        word = _window_word(part)
        return next((place_of(token) for token in self.tokens if token.text.upper() == word), Place(0, 1))

    def _duration(self, part: exp.Expression, place: Place) -> str | int | float:
        if isinstance(part, exp.Interval) and isinstance(part.this, exp.Literal):
            return f"{part.this.name} {part.args['unit'].name.lower() if part.args.get('unit') else ''}".strip()
        if isinstance(part, exp.Literal):
            return part.name if part.is_string else float(part.name) if "." in part.name else int(part.name)
        raise SqlError(
            "expected a duration: INTERVAL '1' MINUTE, '1 minute', or a number of seconds",
            self.text,
            place_of_part(part, self.text, place),
        )

    def having(self) -> exp.Expression | None:
        having = self.select.args.get("having")
        return None if having is None else having.this

    def _keyword(self, kind: TokenType) -> Place:
        return next((place_of(token) for token in self.tokens if token.token_type == kind), Place(0, 1))

    def _after(self, place: Place) -> Place:
        return next((place_of(token) for token in self.tokens if token.start >= place.end), _end(self.text))


def _window_word(part: exp.Expression) -> str | None:
    word = part.name.upper() if isinstance(part, exp.Anonymous) else ""
    word = "SESSION" if word == _SESSION else word
    return word if word in WINDOWS else None


def _conjuncts(part: exp.Expression) -> Iterator[exp.Expression]:
    """The parts of a condition that AND connects."""
    while isinstance(part, exp.Paren):
        part = part.this
    if isinstance(part, exp.And):
        yield from _conjuncts(part.this)
        yield from _conjuncts(part.expression)
    else:
        yield part
