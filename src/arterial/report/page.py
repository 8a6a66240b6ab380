"""A page of results in one HTML file: nothing is fetched from elsewhere; light or dark as the reader likes it.

>>> page = Page("Rating", "two expressways")
>>> page.verdict("All answers came in time", good=True)
>>> page.tiles([Tile("slowest answer", "1.2 s", "limit 5 s", good=True)])
>>> page.table(["output", "answers"], [["toll notices", 2_000_000]])
>>> "<table>" in page.html() and "http" not in page.html()
True
"""

from __future__ import annotations

import html
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.errors import DataError
from arterial.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE_SHEET = Path(__file__).with_name("page.css")


@dataclass(frozen=True)
class Tile:
    """A key figure: its name, the value as it is to be shown, a remark; green or red if it is good or not."""

    name: str
    value: str
    remark: str = ""
    good: bool | None = None


@dataclass(frozen=True)
class Mark:
    """A cell of a table that is good or bad."""

    text: str
    good: bool


class Page:
    """Builds a page from top to bottom. Texts are plain; `backticks` make code, an empty line a new paragraph."""

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title, self.subtitle = title, subtitle
        self._parts: list[str] = []
        self._plots = 0

    def verdict(self, text: str, *, good: bool | None = None, detail: str = "") -> None:
        """A banner with the outcome."""
        kind, mark = {True: ("good", "✓"), False: ("bad", "✗"), None: ("plain", "i")}[good]
        self._parts.append(
            f'<div class="verdict {kind}"><div class="mark">{mark}</div>'
            f"<div><strong>{_inline(text)}</strong><span>{_inline(detail)}</span></div></div>"
        )

    def tiles(self, tiles: Sequence[Tile]) -> None:
        """Key figures side by side."""
        shown = "".join(
            f'<div class="tile{_kind(tile.good)}"><div class="name">{_inline(tile.name)}</div>'
            f'<div class="value">{_inline(tile.value)}</div><div class="remark">{_inline(tile.remark)}</div></div>'
            for tile in tiles
        )
        self._parts.append(f'<div class="tiles">{shown}</div>')

    def section(self, title: str, text: str = "") -> None:
        """A heading, and what is to be said under it."""
        self._parts.append(f"<h2>{_inline(title)}</h2>")
        self.text(text)

    def text(self, text: str) -> None:
        """Paragraphs."""
        self._parts += [f"<p>{_inline(part.strip())}</p>" for part in text.split("\n\n") if part.strip()]

    def code(self, text: str) -> None:
        """Lines of code or of a log."""
        self._parts.append(f"<pre>{html.escape(text)}</pre>")

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[Any]], *, caption: str = "", folded: str = ""
    ) -> None:
        """A table; numbers stand right, a `Mark` in colour; `folded` is the line under which it hides."""
        numeric = [
            any(_is_number(row[place]) for row in rows)
            and all(_is_number(row[place]) or row[place] in ("", None) for row in rows)
            for place in range(len(heads))
        ]
        head = "".join(f"<th{_number(numeric[place])}>{_inline(text)}</th>" for place, text in enumerate(heads))
        body = "".join(
            f"<tr>{''.join(_cell(value, numeric[place]) for place, value in enumerate(row))}</tr>" for row in rows
        )
        above = f"<caption>{_inline(caption)}</caption>" if caption else ""
        shown = f'<div class="table"><table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        self._parts.append(f"<details><summary>{_inline(folded)}</summary>{shown}</details>" if folded else shown)

    def plot(self, figure: Figure, caption: str) -> None:
        """A figure over the whole width."""
        self._parts.append(self._figure(figure, caption))

    def plots(self, figures: Sequence[tuple[Figure, str]]) -> None:
        """Figures with their captions side by side, where there is room."""
        self._parts.append(f'<div class="plots">{"".join(self._figure(*one) for one in figures)}</div>')

    def html(self) -> str:
        """The page as text."""
        style = STYLE_SHEET.read_text()
        made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        command = " ".join(["arterial", *sys.argv[1:]]) if sys.argv[0].endswith(("arterial", "__main__.py")) else ""
        by = f" by <code>{html.escape(command)}</code>" if command else ""
        return (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(self.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
            f"<header><h1>{_inline(self.title)}</h1><p>{_inline(self.subtitle)}</p></header>\n"
            + "\n".join(self._parts)
            + f"\n<footer>Made {made} with Arterial {__version__}{by}</footer>\n</main>\n</body>\n</html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, replacing one of the same name; its folder is made if need be."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.html(), encoding="utf-8")
        except OSError as fault:
            raise DataError(
                f"{path}: the page cannot be written: {fault.strerror or fault}; choose another name"
            ) from fault
        return path

    def _figure(self, figure: Figure, caption: str) -> str:
        from arterial.report.plots import svg_of

        self._plots += 1
        svg = svg_of(figure, prefix=f"p{self._plots}-")
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(caption)}"', 1)
        return f"<figure>{svg}<figcaption>{_inline(caption)}</figcaption></figure>"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _kind(good: bool | None) -> str:
    return {True: " good", False: " bad", None: ""}[good]


def _number(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _is_number(value: Any) -> bool:
    """Whether a cell is a number, or a text that is one with its unit.

    >>> _is_number(3), _is_number("1,234.5 ms"), _is_number("49.9 %"), _is_number("3 cars too many")
    (True, True, True, False)
    """
    if isinstance(value, str):
        return bool(re.fullmatch(r"[-+]?[\d,]*\.?\d+( ?\S{1,3})?", value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any, numeric: bool) -> str:
    if isinstance(value, Mark):
        return f'<td class="{_kind(value.good).strip()}">{_inline(value.text)}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:,}"
    elif isinstance(value, float):
        value = f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"<td{_number(numeric)}>{_inline('' if value is None else str(value))}</td>"
