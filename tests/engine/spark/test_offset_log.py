"""What is read of Spark's log of offsets is what the planner wrote there."""

from __future__ import annotations

import json
from pathlib import Path

from arterial.connectors.memory_source import MemorySource
from arterial.engine.spark.logs.offset_log import last_offsets
from arterial.engine.steering import control
from arterial.engine.steering.offsets import first_offset, next_offset
from arterial.network.train import Train
from tests.engine.tiny import SCHEMA


def test_the_last_steps_and_their_versions(tmp_path: Path) -> None:
    log = tmp_path / "spark" / "offsets"
    log.mkdir(parents=True)
    source = MemorySource([Train(SCHEMA.empty(), second) for second in range(9)]).bind("s", SCHEMA, "time", tmp_path)
    at = first_offset({"s": source}, tmp_path)
    for number in range(4):
        if number == 3:
            control.switch(tmp_path, 2)
        at = next_offset({"s": source}, at, tmp_path, 1, 0)
        (log / str(number)).write_text(f'v1\n{{"batchTimestampMs":1}}\n{json.dumps(at)}')
    (log / "9").write_text("v1\n{}\ntorn")
    assert [(o["step"], o["version"]) for o in last_offsets(tmp_path / "spark", 3)] == [(3, 1), (4, 2)]
    assert last_offsets(tmp_path) == []
