"""The example networks against plain loops."""

from __future__ import annotations

import random
import runpy
from pathlib import Path

import arterial as art

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_visits_are_those_of_a_plain_loop() -> None:
    chance, now, clicks = random.Random(3), 0, []
    for _ in range(400):
        now += chance.choice([0, 1, 5, 12, 40])
        clicks.append({"time": now, "user": chance.choice("abcd"), "page": "/"})
    net = runpy.run_path(str(EXAMPLES / "clicks.py"))["net"]
    got = art.collect(net, clicks=clicks)["visits"].to_dicts()
    expected = []
    for user in "abcd":
        times = [click["time"] for click in clicks if click["user"] == user]
        visit = times[:1]
        for time in times[1:]:
            if time - visit[-1] > 30:
                expected.append({"user": user, "time": visit[-1], "clicks": len(visit), "first": visit[0]})
                visit = []
            visit.append(time)
        expected.append({"user": user, "time": visit[-1], "clicks": len(visit), "first": visit[0]})
    assert sorted(got, key=lambda one: (one["user"], one["time"])) == expected
