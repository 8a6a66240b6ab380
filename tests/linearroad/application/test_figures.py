"""Response times of a finished run: counted by the millisecond, with the percentiles of the values themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arterial.linearroad.application.figures import PERCENTILES, response_times
from arterial.linearroad.formats.dialects import PAPER


def test_percentiles_are_those_of_the_values(tmp_path: Path) -> None:
    waits = np.random.default_rng(1).gamma(2, 0.4, 5_000).round(3)
    lines = [f"0,{vid},{vid % 60},{vid % 60 + wait:.3f},50,0\n" for vid, wait in enumerate(waits)]
    (tmp_path / "output.csv").write_text("".join(lines))
    told = response_times(tmp_path, PAPER)
    assert told["notices"]["answers"] == 5_000
    for name, percent in PERCENTILES.items():
        assert abs(told["notices"][name] - np.percentile(waits, percent)) < 0.0011
    assert told["alerts"] == {"answers": 0, "p50": None, "p95": None, "p99": None, "worst": None}


def test_a_single_answer_that_took_hours(tmp_path: Path) -> None:
    (tmp_path / "output.csv").write_text("2,60,7260.5,60,7,0\n")
    told = response_times(tmp_path, PAPER)
    assert told["balances"] == {"answers": 1, "p50": 7200.5, "p95": 7200.5, "p99": 7200.5, "worst": 7200.5}
