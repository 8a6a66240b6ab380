"""Why a row is as it is, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from arterial.causes.explanation import Explanation, Numbered, in_words, numbers, together
from arterial.reference.parts.causes import shown
from arterial.report.page import Mark, Page, Tile

MOST_ROWS = 200


def page_of(said: Explanation) -> Page:
    """The page of an explanation: the row, what each box did, and the tuples of the sources."""
    page = Page(f"Why this row of {said.output}?", f"network {said.network}")
    page.verdict(in_words(said.row), detail=said.summary)
    whole = said.tried == said.in_scope
    page.tiles(
        [
            Tile("needed", f"{len(said.causes):,}", "without any one of them the row is not there, or is another"),
            Tile("used besides", f"{len(said.witnesses):,}", "the row stays as it is without any one of them alone"),
            Tile("tried", f"{said.tried:,}", f"{'all' if whole else f'of {said.in_scope:,}'} of the groups and times"),
        ]
    )
    values = {one.number: one.values for one in said.tuples}
    page.section("What each box did", "From the output back to the sources. Tuples go by their numbers; the row is #1.")
    for name, kind, steps in said.by_box():
        rows = []
        for some in together(steps)[:MOST_ROWS]:
            step = some[0]
            made = numbers(one.made for one in some)
            itself = "" if step.passes or step.made == 1 else f"  {in_words(values[step.made])}"
            from_ = ("passes" if len(some) == 1 else "pass") if step.passes else numbers(step.made_of)
            rows.append([made + itself, from_, step.words])
        page.table(["tuple", "from", "what the box did"], rows, caption=f"`{name}`, a {kind}" + _left(len(rows)))
    page.section("The tuples of the sources")
    for name, tuples in said.by_source().items():
        _source_table(page, name, tuples)
    if said.also_needed:
        page.section(
            "Also needed",
            "The row was not made of these. Without one of them another tuple would get in its way, and it would not "
            "be there.",
        )
        _source_table(page, said.also_needed[0].source, said.also_needed)
    for note in said.notes:
        page.text(note)
    return page


def _source_table(page: Page, name: str, tuples: Sequence[Numbered]) -> None:
    marks = {True: Mark("needed", True), False: "used", None: "not tried"}
    columns = list(tuples[0].values)
    page.table(
        ["tuple", *columns, ""],
        [
            [f"#{one.number}", *(shown(one.values.get(column)) for column in columns), marks[one.needed]]
            for one in tuples[:MOST_ROWS]
        ],
        caption=f"`{name}`" + _left(len(tuples)),
    )


def _left(number: int) -> str:
    return f": the first {MOST_ROWS:,} of {number:,}" if number > MOST_ROWS else ""
