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


def test_alerts_are_those_of_a_plain_loop() -> None:
    chance = random.Random(5)
    readings = [
        {"time": n // 3, "sensor": chance.choice("ab"), "celsius": float(chance.choice([25, 31, 32, 40]))}
        for n in range(600)
    ]
    net = runpy.run_path(str(EXAMPLES / "sensors.py"))["net"]
    out = art.collect(net, readings=readings)
    hot: dict[str, int] = {}
    expected = []
    for reading in readings:
        sensor = str(reading["sensor"])
        hot[sensor] = hot.get(sensor, 0) + 1 if float(str(reading["celsius"])) > 30 else 0
        if hot[sensor] == 3:
            expected.append(reading)
    order = ("sensor", "time", "celsius")
    assert sorted(out["alerts"].to_dicts(), key=lambda one: [one[name] for name in order]) == sorted(
        expected, key=lambda one: [one[name] for name in order]
    )
    assert out["means"].height > 0
    for window in out["means"].iter_rows(named=True):
        inside = [
            float(str(one["celsius"]))
            for one in readings
            if one["sensor"] == window["sensor"] and window["time"] - 60 < int(str(one["time"])) <= window["time"]
        ]
        assert window["n"] == len(inside)
        assert abs(window["mean"] - sum(inside) / len(inside)) < 1e-9
