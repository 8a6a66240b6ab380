"""Kernels compiled from older sources are forgotten."""

from __future__ import annotations

import os
from pathlib import Path

from arterial.linearroad.simulate.stale import forget_stale_kernels


def test_only_older_ones_go(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    for name, age in (("one.py", 100), ("two.py", 200), ("__pycache__/old.nbi", 150), ("__pycache__/new.nbi", 201)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    assert forget_stale_kernels(tmp_path) == 1
    assert [path.name for path in (tmp_path / "__pycache__").iterdir()] == ["new.nbi"]


def test_a_package_that_was_never_compiled(tmp_path: Path) -> None:
    (tmp_path / "one.py").touch()
    assert forget_stale_kernels(tmp_path) == 0
