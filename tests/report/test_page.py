"""A page holds what was put in, escaped, and fetches nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from arterial.errors import DataError
from arterial.report import Mark, Page, Tile, plots


def full_page() -> Page:
    page = Page("A <title>", "of `things`")
    page.verdict("Right & in time", good=True, detail="all")
    page.verdict("Wrong", good=False)
    page.verdict("Nothing was judged")
    page.tiles([Tile("reports", "12 M", "a remark", good=False), Tile("plain", "1")])
    page.section("Heading", "first\n\nsecond `code`")
    page.code("a < b")
    page.table(
        ["name", "number", "mark"], [["x", 1234567, Mark("ok", True)], ["y", 2.5, Mark("no", False)]], caption="c"
    )
    page.table(["a"], [["hidden"]], folded="more")
    page.plot(plots.lines({"one": ([0, 1], [1, 2])}, x="minute", y="n"), 'a "plot"')
    page.plots([(plots.bars(["a", "b"], {"v": [1, 2]}, y="n"), "bars"), (plots.bars(["a"], {"v": [1]}, y="n"), "more")])
    return page


class Checker(HTMLParser):
    """Collects ids and tags, and checks that tags close in order."""

    VOID = frozenset({"meta", "use", "path", "image", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.thorough
def test_the_page_is_well_formed_and_ids_are_unique() -> None:
    checker = Checker()
    checker.feed(full_page().html())
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids)) > 0


def test_nothing_is_fetched() -> None:
    text = full_page().html()
    links = re.findall(r'(?:href|src)="([^"]*)"|url\(([^)]*)\)', text)
    assert all((a or b).startswith(("#", "data:")) for a, b in links)
    assert "<script" not in text


def test_texts_are_escaped_and_backticks_are_code() -> None:
    text = full_page().html()
    assert "<h1>A &lt;title&gt;</h1>" in text
    assert "<code>things</code>" in text
    assert "<pre>a &lt; b</pre>" in text
    assert "Right &amp; in time" in text
    assert 'aria-label="a &quot;plot&quot;"' in text


def test_tables_show_numbers_and_marks() -> None:
    text = full_page().html()
    assert '<td class="number">1,234,567</td>' in text
    assert '<td class="number">2.5</td>' in text
    assert '<td class="good">ok</td>' in text
    assert '<td class="bad">no</td>' in text
    assert '<th class="number">number</th>' in text
    assert "<details><summary>more</summary>" in text


def test_write_makes_the_folder(tmp_path: Path) -> None:
    path = full_page().write(tmp_path / "new" / "page.html")
    assert path.read_text().startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="the page cannot be written"):
        full_page().write(tmp_path / "file" / "page.html")
