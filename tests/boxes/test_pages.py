"""Every kind of box has a meaning, examples, a description of each parameter, and a page that is up to date."""

from __future__ import annotations

import inspect
import re

import pytest

from arterial.drawing import Network, StreamHandle
from arterial.network.box import Box
from arterial.reference.interpret import meaning_of
from tests.conformance.kinds import examples_of
from tools.box_pages import FOLDER, INDEX, documentation, own_boxes, pages, parameters_of

BOXES = own_boxes()
PAGES = pages()


def test_there_are_boxes_of_both_rooms() -> None:
    assert {"filter", "tumble", "gpac_in", "moving_queries"} <= set(BOXES)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_class_says(name: str) -> None:
    assert (FOLDER / name).exists(), "run python -m tools.box_pages"
    assert (FOLDER / name).read_text() == PAGES[name], "run python -m tools.box_pages"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == {*PAGES, INDEX, "custom.md"}


@pytest.mark.parametrize("kind", BOXES.values(), ids=BOXES)
def test_a_box_has_all_that_it_needs(kind: type[Box]) -> None:
    said = documentation(kind)
    assert re.search(r"\((Aurora|GPAC|thesis) .*\)\.$", said.summary), "the summary ends with the paper's section"
    assert [name for name in parameters_of(kind) if name not in said.parameters] == []
    assert ">>> show(" in said.example
    assert meaning_of(kind) is not None
    assert callable(examples_of(kind.kind).case)
    if kind.__module__.startswith("arterial.boxes."):
        assert kind.__module__.rpartition(".")[2] == kind.kind, "one box, one file of the same name"
        assert any(inspect.isfunction(getattr(owner, kind.kind, None)) for owner in (StreamHandle, Network))
