"""A run of profile `thesis2003`: our lines and the thesis' own, judged by the validator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from arterial.connectors.pace import MAX
from arterial.linearroad.application.run import LinearRoadRun, RunOptions, clear
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.reference import Event, answer
from arterial.linearroad.semantics.profiles import ProfileError
from arterial.linearroad.validate import validate
from tests.linearroad.application.stream import history_in
from tests.linearroad.cities import balance, expenditure, generate, report, stopped, travel


def test_our_lines_with_a_history(spark: SparkSession, tmp_path: Path) -> None:
    city = generate(4)
    data = tmp_path / "events.csv"
    data.write_text("".join(_line(event) for event in sorted(city.events, key=lambda event: event.time)))
    segments = history_in(tmp_path / "history", (), city.segments).segments
    options = RunOptions(
        data, tmp_path / "out", segments=segments, profile="thesis2003", speed=MAX, shards=2, basetoll=3, ftmin=60
    )
    figures = _run(options, spark)
    assert (figures["basetoll"], figures["basecredit"], figures["ftmin"]) == (3, 100, 60)
    verdict = validate(
        open_data(data), options.out / "output.csv", segments=segments, profile=options.semantics, timed=False
    )
    assert verdict.passes, verdict.as_json()
    right = answer(city.events, (), city.segments, options.semantics)
    tuples = (options.out / "thesis.csv").read_text().splitlines()
    assert sorted(line for line in tuples if line[0] == "0") == sorted(
        f"0,{vid},{toll},{lav},0" for vid, _, lav, toll in right.notices
    )
    assert sorted(line for line in tuples if line[0] == "4") == sorted(
        f"4,{qid},{seconds},{toll},0" for _, qid, seconds, toll in right.travels
    )
    clear(options.out)
    assert not list(options.out.iterdir())


def test_lines_of_the_thesis(spark: SparkSession, tmp_path: Path) -> None:
    """Two cars stop in segment 12; vehicle 1 leaves before and has its credit."""
    events = [
        *stopped(101, 0, 6, 12),
        *stopped(102, 0, 6, 12),
        report(70, 1, 10),
        report(100, 1, 10),
        report(130, 1, 10, lane=4),
        balance(131, 1, 1),
        expenditure(131, 1, 2, day=1),
        travel(131, 1, 3, sinit=10, send=12, dow=1, tod=1),
    ]
    data = tmp_path / "thesis.csv"
    data.write_text("".join(_thesis_lines(events)) + "0,132\n")
    options = RunOptions(data, tmp_path / "out", profile="thesis2003", speed=MAX, shards=1, basecredit=7)
    figures = _run(options, spark)
    assert figures["rejected"] == {"not 15 fields": 1}
    assert "0,132" in (options.out / "rejects.csv").read_text()
    tuples = (options.out / "thesis.csv").read_text().splitlines()
    assert {"1,1,0,12,1", "2,1,-7,0,0", "3,2,-7,0,0", "4,3,-1,-1,0"} <= set(tuples)
    verdict = validate(open_data(data), options.out / "output.csv", profile=options.semantics, timed=False)
    assert verdict.passes, verdict.as_json()


@pytest.mark.parametrize("wrong", [{"basetoll": -1}, {"basetoll": 10**6}, {"profile": "spec", "ftmin": 5}])
def test_constants_that_a_profile_does_not_have(wrong: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="basetoll"):
        LinearRoadRun(RunOptions(tmp_path, tmp_path / "out", **{"profile": "thesis2003", **wrong}))  # type: ignore[arg-type]


def _run(options: RunOptions, spark: SparkSession) -> dict[str, object]:
    running = LinearRoadRun(options, spark=spark)
    assert running.wait(300)
    running.finish()
    figures: dict[str, object] = json.loads((options.out / "run.json").read_text())
    return figures


def _line(event: Event) -> str:
    return ",".join(str(field) for field in event) + "\n"


def _thesis_lines(events: list[Event]) -> Iterator[str]:
    for event in sorted(events, key=lambda event: event.time):
        if event.type == 0:
            lane = 7 if event.lane in (0, 4) else 7 - event.lane
            offset = (event.pos - event.seg * 5280) // 3
            fields: list[int] = [0, event.time, event.vid, event.speed, event.xway, event.seg, offset, lane, 1]
        elif event.type == 2:
            fields = [2, event.time, event.vid, event.qid]
        elif event.type == 3:
            fields = [3, event.time, event.vid, event.qid, event.xway]
        else:
            place = event.xway, event.sinit, event.send
            fields = [4, event.time, event.vid, event.qid, *place, event.dow - 1, event.tod - 1]
        yield ",".join(map(str, fields)) + "\n"
