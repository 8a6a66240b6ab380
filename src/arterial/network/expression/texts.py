"""Functions of text in expressions."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
from sqlglot import exp

from arterial.network.expression.binder import Binder
from arterial.network.expression.tree import Call, Literal, Tree
from arterial.network.schema import Type

OF_TEXT: dict[type[exp.Expression], str] = {exp.Lower: "lower", exp.Upper: "upper", exp.Reverse: "reverse"}
TESTS: dict[type[exp.Expression], str] = {
    exp.StartsWith: "starts_with", exp.EndsWith: "ends_with", exp.Contains: "contains",
}  # fmt: skip
NAMES = (
    "length lower upper trim ltrim rtrim substr left right lpad rpad repeat reverse replace split_part strpos concat "
    "starts_with ends_with contains regexp_matches regexp_full_match regexp_replace regexp_extract"
)
_LONGEST = 10_000


class Texts(Binder):
    """Reads functions of text."""

    def _of_text(self, part: Any) -> Tree:
        return Call(OF_TEXT[type(part)], (self._text(part.this),), Type.STRING)

    def _test(self, part: Any) -> Tree:
        return Call(TESTS[type(part)], (self._text(part.this), self._text(part.expression)), Type.BOOL)

    def _on_trim(self, part: exp.Trim) -> Tree:
        side = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(part.args.get("position")), "trim")
        signs = part.args.get("expression")
        kept = " " if signs is None else self._text_constant(signs, f"the characters of {side}")
        return Call(side, (self._text(part.this), Literal(kept, Type.STRING)), Type.STRING)

    def _on_length(self, part: exp.Length) -> Tree:
        return Call("length", (self._text(part.this),), Type.INT64)

    def _on_dpipe(self, part: exp.DPipe) -> Tree:
        return Call("concat", (self._text(part.this), self._text(part.expression)), Type.STRING)

    def _on_like(self, part: exp.Like) -> Tree:
        pattern = self.tree(part.expression)
        if not (isinstance(pattern, Literal) and pattern.type is Type.STRING):
            raise self._error("the pattern of `like` must be a constant text")
        test = Call("like", (self._text(part.this), pattern), Type.BOOL)
        return Call("not", (test,), Type.BOOL) if part.args.get("negate") else test

    def _on_ilike(self, part: exp.ILike) -> Tree:
        pattern = self._text_constant(part.expression, "the pattern of `ilike`").lower()
        text = Call("lower", (self._text(part.this),), Type.STRING)
        test = Call("like", (text, Literal(pattern, Type.STRING)), Type.BOOL)
        return Call("not", (test,), Type.BOOL) if part.args.get("negate") else test

    def _on_concat(self, part: exp.Concat) -> Tree:
        """Nulls are left out, other than with `||`."""
        empty = Literal("", Type.STRING)
        texts = [Call("coalesce", (self._text(one), empty), Type.STRING) for one in part.expressions]
        result: Tree = empty
        for text in texts:
            result = Call("concat", (result, text), Type.STRING)
        return result

    def _on_substring(self, part: exp.Substring) -> Tree:
        start = self._whole_constant(part.args.get("start"), "the start of substr", -_LONGEST, 2**31)
        length = part.args.get("length")
        most = None if length is None else self._whole_constant(length, "the length of substr", 0, 2**31)
        return self._substr(part.this, start, most)

    def _on_left(self, part: exp.Left) -> Tree:
        return self._substr(part.this, 1, self._whole_constant(part.expression, "the length of left", 0, 2**31))

    def _on_right(self, part: exp.Right) -> Tree:
        length = self._whole_constant(part.expression, "the length of right", 0, _LONGEST)
        return self._substr(part.this, -length if length else 1, None if length else 0)

    def _substr(self, text: Any, start: int, length: int | None) -> Tree:
        limits = [Literal(limit, Type.INT64) for limit in (start, length) if limit is not None]
        return Call("substr", (self._text(text), *limits), Type.STRING)

    def _on_replace(self, part: exp.Replace) -> Tree:
        return Call(
            "replace",
            (self._text(part.this), self._text(part.expression), self._text(part.args.get("replacement"))),
            Type.STRING,
        )

    def _on_pad(self, part: exp.Pad) -> Tree:
        name = "lpad" if part.args.get("is_left") else "rpad"
        length = self._whole_constant(part.expression, f"the length of {name}", 0, _LONGEST)
        fill = self._text(part.args.get("fill_pattern") or exp.Literal.string(" "))
        return Call(name, (self._text(part.this), Literal(length, Type.INT64), fill), Type.STRING)

    def _on_repeat(self, part: exp.Repeat) -> Tree:
        times = self._whole_constant(part.args.get("times"), "the number of repeat", 0, _LONGEST)
        return Call("repeat", (self._text(part.this), Literal(times, Type.INT64)), Type.STRING)

    def _on_splitpart(self, part: exp.SplitPart) -> Tree:
        number = self._whole_constant(part.args.get("part_index"), "the number of split_part", -_LONGEST, _LONGEST)
        separator = self._text_constant(part.args.get("delimiter"), "the separator of split_part")
        if not separator:
            raise self._error("the separator of split_part must not be empty")
        sides = (self._text(part.this), Literal(separator, Type.STRING), Literal(number, Type.INT64))
        return Call("split_part", sides, Type.STRING)

    def _on_strposition(self, part: exp.StrPosition) -> Tree:
        return Call("strpos", (self._text(part.this), self._text(part.args.get("substr"))), Type.INT64)

    def _on_regexplike(self, part: exp.RegexpLike) -> Tree:
        return Call("regexp_matches", (self._text(part.this), self._pattern(part)), Type.BOOL)

    def _on_regexpfullmatch(self, part: exp.RegexpFullMatch) -> Tree:
        pattern = self._pattern(part)
        whole = Literal(f"^(?:{pattern.value})$", Type.STRING)
        return Call("regexp_matches", (self._text(part.this), whole), Type.BOOL)

    def _on_regexpextract(self, part: exp.RegexpExtract) -> Tree:
        pattern, group = self._pattern(part), part.args.get("group")
        groups = re.compile(str(pattern.value)).groups
        number = 0 if group is None else self._whole_constant(group, "the group of regexp_extract", 0, groups)
        return Call("regexp_extract", (self._text(part.this), pattern, Literal(number, Type.INT64)), Type.STRING)

    def _on_regexpreplace(self, part: exp.RegexpReplace) -> Tree:
        pattern, new = self._pattern(part), self._text_constant(part.args.get("replacement"), "the replacement")
        options = part.args.get("modifiers")
        given = "" if options is None else self._text_constant(options, "the options of regexp_replace")
        if given not in ("", "g"):
            raise self._error(f"the options of regexp_replace may be 'g' (replace all), got {given!r}")
        if re.search(str(pattern.value), ""):
            raise self._error("the pattern of regexp_replace must not match the empty text")
        groups = re.compile(str(pattern.value)).groups
        if any(int(number) > groups for number in re.findall(r"\\([0-9])", new)):
            raise self._error(f"the replacement {new!r} names a group that the pattern does not have")
        arguments = (self._text(part.this), pattern, Literal(new, Type.STRING), Literal(given == "g", Type.BOOL))
        return Call("regexp_replace", arguments, Type.STRING)

    def _pattern(self, part: Any) -> Literal:
        text = self._text_constant(part.expression, "a regular expression")
        try:
            re.compile(text)
            pl.Series([""]).str.contains(text)
        except (re.error, pl.exceptions.ComputeError) as mistake:
            lines = str(mistake).splitlines()
            reason = next((line for line in lines if line.startswith("error: ")), lines[-1]).removeprefix("error: ")
            raise self._error(f"cannot use the regular expression {text!r}: {reason}") from None
        return Literal(text, Type.STRING)
