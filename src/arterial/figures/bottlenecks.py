"""Where the time of a run goes: which box in which slot takes how much of the steps."""

from __future__ import annotations

from typing import Any

from arterial.figures.window import Window

MOST_BOTTLENECKS = 8


def bottlenecks(window: Window) -> list[dict[str, Any]]:
    """Where the time of the steps goes, the most first: boxes with their slot, and what is spent around them."""
    places: dict[tuple[str | None, int | None], float] = {}
    slots: dict[tuple[str | None, int | None], tuple[float, int | None]] = {}
    for (box, level, slot), seconds in window.spent.items():
        place = (box, level)
        places[place] = places.get(place, 0.0) + seconds
        slots[place] = max(slots.get(place, (0.0, slot)), (seconds, slot))
    whole = window.seconds or 1e-9
    ranked = sorted(places.items(), key=lambda item: -item[1])
    return [
        {"box": box, "level": level, "slot": slots[box, level][1], "share": round(min(1.0, seconds / whole), 4)}
        for (box, level), seconds in ranked[:MOST_BOTTLENECKS]
        if seconds > 1e-9
    ]
