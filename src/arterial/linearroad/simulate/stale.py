"""Keeps compiled kernels true to their sources.

Numba compiles a kernel again when its own file has changed, but not when a kernel that it calls from another file has.
"""

from __future__ import annotations

from pathlib import Path


def forget_stale_kernels(package: Path) -> int:
    """Forget the compiled kernels of a package that are older than any of its sources; returns how many."""
    newest = max(source.stat().st_mtime for source in package.rglob("*.py"))
    forgotten = 0
    for index in package.rglob("__pycache__/*.nbi"):
        try:
            if index.stat().st_mtime < newest:
                index.unlink()
                forgotten += 1
        except OSError:
            continue  # another process was faster, or the folder is not ours to change
    return forgotten
