"""Sensors: a sliding average of each, where each of them is, and an alert at the third hot reading in a row.

python examples/sensors.py                       # makes readings.csv and places.csv
arterial run examples/sensors.py --source readings=readings.csv --source places=places.csv --local --merge -f csv

docs/tutorial/sensors.md builds it step by step.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import arterial as art

net = art.Network("sensors")
readings = net.source(
    "readings", {"time": "timestamp", "sensor": str, "number": int, "celsius": float}, disorder="20 s"
)
by_sensor = readings.group_by("sensor").deduplicate("once", "number", within="1 minute")
by_sensor.slide("five_minutes", over="5 minutes", every="1 minute", mean="avg(celsius)", n="count(*)").output("means")
readings.late.output("too_late")

places = net.loaded_relation("places", {"sensor": str, "room": str, "hottest": float}, key="sensor", time="timestamp")
placed = by_sensor.read_relation("placed", places)
placed.in_a_row("three_hot", "celsius > hottest", n=3).output("alerts")

PLACES = {"s1": ("kitchen", 24.0), "s2": ("cellar", 14.0), "s3": ("attic", 26.0), "s4": ("hall", 21.0)}
USUAL = {"s1": 23.0, "s2": 12.0, "s3": 25.0, "s4": 20.0, "s5": 19.0}
ZONES = (UTC, timezone(timedelta(hours=1)), timezone(timedelta(hours=-5)))


def make_readings(folder: Path, minutes: int = 30, seed: int = 1) -> None:
    """A reading of each sensor about every ten seconds, as radio brings them: some twice, some late, some never."""
    chance, start = random.Random(seed), datetime(2026, 3, 1, 5, tzinfo=UTC)
    arrivals = []
    for sensor, celsius in USUAL.items():
        for number in range(minutes * 6):
            celsius += chance.gauss(0, 0.5) + (USUAL[sensor] - celsius) / 20
            time = start + timedelta(seconds=number * 10 + chance.choice([0, 0.25, 0.5]))
            if chance.random() < 0.02 or (sensor == "s3" and 10 <= number / 6 < 17):
                continue
            zone, value = chance.choice(ZONES), chance.choices([f"{celsius:.1f}", "", "ERR"], [97, 2, 1])[0]
            line = f"{time.astimezone(zone).isoformat().replace('+00:00', 'Z')},{sensor},{number},{value}\n"
            for _ in range(chance.choices([1, 2], [96, 4])[0]):
                delay = chance.choices([chance.uniform(0, 18), chance.uniform(60, 120)], [99.5, 0.5])[0]
                arrivals.append((time + timedelta(seconds=delay), line))
    lines = [line for _, line in sorted(arrivals)]
    (folder / "readings.csv").write_text("time,sensor,number,celsius\n" + "".join(lines))
    rows = [f"{sensor},{room},{hottest}\n" for sensor, (room, hottest) in PLACES.items()]
    (folder / "places.csv").write_text("sensor,room,hottest\n" + "".join(rows))


if __name__ == "__main__":
    make_readings(Path())
    print("made readings.csv and places.csv")
