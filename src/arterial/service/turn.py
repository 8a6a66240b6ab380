"""When a controller decides: steps may take milliseconds, and then not after each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arterial.figures.window import Window

BETWEEN = 0.1
"""Seconds from one decision to the next, at least."""


@dataclass
class Turn:
    """Says whether it is time to decide again."""

    decided: float = -math.inf

    def comes(self, window: Window) -> bool:
        """Whether the last step of a window ended long enough after the last decision."""
        now = window.steps[-1].born + window.steps[-1].seconds
        if 0 <= now - self.decided < BETWEEN:
            return False
        self.decided = now
        return True
