"""The section of a paper that a box's page names."""

from __future__ import annotations

import re

from arterial.drawing import Network
from arterial.engine.plan.description import paper_of
from arterial.network.box import Box, is_from_library
from arterial.studio.subject import Drawn


def test_every_box_of_the_library_names_the_section_that_it_comes_from() -> None:
    silent = [word for word, kind in Box.kinds.items() if is_from_library(kind) and not paper_of(kind)]
    assert silent == []
    for kind in Box.kinds.values():
        assert re.search(r"§\d", paper_of(kind) or "§1")


def test_a_class_that_cites_nothing_names_none() -> None:
    class Own:
        """Does something (and more)."""

    assert paper_of(Own) is None  # type: ignore[arg-type]
    net = Network("n")
    net.source("s", {"time": int}).output("o")
    assert {box.name: box.paper for box in Drawn(net.value).network.boxes} == {"s": "Aurora §2", "o": "Aurora §2.2"}
