"""Every reader of input survives what it was not made for: mutated seeds here, coverage-guided in the slow suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, Target

CORPUS = Path(__file__).parent / "corpus"
PIECES = (
    b"\x00", b"\xff", b"\n", b"\r\n", b'"', b"'", b",", b";", b"(", b")", b"[", b"{", b"}", b"-", b"-0", b"1e999",
    b"9223372036854775808", b"-9223372036854775809", b"NaN", b"NULL", b"null", b"true", b"\\u0000", b"\\", b"%", b"*",
    b"--", b"/*", b"\xed\xa0\x80", b"\\ud800", "\u202e".encode(), "٣".encode(), b"9" * 400, b"(" * 300, b"..",
    b"2026-03-01T24:00:00Z", b"[/red]",
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """A seed, with some pieces cut out, doubled, put in or replaced."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        until = min(len(data), at + draw(st.integers(0, 12)))
        put = draw(st.sampled_from((b"", data[at:until] * 2, *PIECES)) | st.binary(max_size=4))
        data = data[:at] + put + data[until:]
    return data


@pytest.mark.thorough
@pytest.mark.parametrize("name", TARGETS)
def test_mutated_input_is_read_or_refused(name: str) -> None:
    _fuzz(TARGETS[name], examples=60)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_mutated_input_is_read_or_refused_many_times(name: str) -> None:
    _fuzz(TARGETS[name], examples=5000)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_failed(path: Path) -> None:
    TARGETS[path.parent.name].survives(path.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_input_that_is_searched_by_coverage(name: str, tmp_path: Path) -> None:
    """A minute for each target; what makes it fail is left in `tmp_path`, to be put into the corpus.

    Kernels run as plain Python there, so that their branches count too.
    """
    pytest.importorskip("atheris", reason="atheris has no wheel for this Python")
    root = Path(__file__).parents[2]
    limits = ("-max_total_time=60", "-rss_limit_mb=4096", "-timeout=20", f"-artifact_prefix={tmp_path}/")
    command = [sys.executable, "-m", "tests.fuzz.guided", name, str(tmp_path), *limits]
    surroundings = {**os.environ, "PYTHONPATH": str(root / "src"), "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run(command, cwd=root, env=surroundings, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-4000:]


def _fuzz(target: Target, examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    @given(mutated(target.seeds))
    def survives(data: bytes) -> None:
        target.survives(data)

    survives()
