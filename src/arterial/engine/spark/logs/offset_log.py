"""What Spark's log of offsets says of the last steps that were planned: their numbers and versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arterial.figures.steering import Steering


def last_offsets(spark: Path, count: int = 2) -> list[dict[str, Any]]:
    """The offsets of the last steps that Spark logged, the latest last, each with its `version`."""
    log = spark / "offsets"
    numbers = sorted(int(path.name) for path in log.iterdir() if path.name.isdigit()) if log.is_dir() else []
    offsets: list[dict[str, Any]] = []
    for number in numbers[-count:]:
        try:
            # The first two lines are Spark's own: the format, and the step's metadata.
            lines = (log / str(number)).read_text().splitlines()[2:]
            found = [json.loads(line) for line in lines if line.startswith("{")]
        except (OSError, ValueError):
            continue
        for offset in found:
            if isinstance(offset, dict) and isinstance(offset.get("steering"), dict):
                offsets.append({**offset, "version": Steering.from_json(offset["steering"]).version})
    return offsets
