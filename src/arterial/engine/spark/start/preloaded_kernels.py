"""What numba loads when it meets its first kernel, loaded before that: while there is time, or before a fork."""

from __future__ import annotations

from numba.core.registry import cpu_target

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
