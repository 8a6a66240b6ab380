"""`arterial studio`: what it refuses before it serves, and what it says in which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.studio.server import Studio
from arterial.studio.subject import Drawn
from tests.studio.traffic import traffic


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--view", "citty"], "there is no view 'citty'; expected one of: network, city, ask, draw"),
        (["nowhere"], "nowhere: no such folder"),
        (["{tmp}"], "no run"),
        (["{tmp}/gone.py:net"], "gone.py"),
    ],
)
def test_a_mistake_is_said_before_anything_is_served(tmp_path: Path, words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["studio", "--no-browser", *(word.format(tmp=tmp_path) for word in words)])
    assert done.exit_code != 0
    assert said in done.output + str(done.exception)


def test_beyond_this_machine_the_address_has_a_token() -> None:
    alone, open_to_others = Studio(Drawn(traffic())), Studio(Drawn(traffic()), host="0.0.0.0")
    try:
        assert "token" not in alone.address
        assert open_to_others.token is not None
        assert len(open_to_others.token) >= 32
        assert open_to_others.address.endswith(f"?token={open_to_others.token}")
    finally:
        alone.stop()
        open_to_others.stop()
