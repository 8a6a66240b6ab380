"""A fleet: which van enters and leaves which area, how long it stays, and the three vans nearest to a customer.

python examples/fleet.py                         # makes reports.jsonl
arterial run examples/fleet.py --source reports=reports.jsonl --local --merge -f csv

docs/tutorial/fleet.md builds it step by step.
"""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import arterial as art
from arterial.moving import fences, gpac_knn

net = art.Network("fleet")
reports = net.source("reports", {"time": "timestamp", "van": str, "lon": float, "lat": float}, disorder="10 s")

AREAS = {
    "depot": "circle(13.400 52.500, 300)",
    "airport": "rectangle(13.430 52.510, 13.450 52.525)",
    "harbour": "polygon((13.370 52.510, 13.385 52.512, 13.375 52.522))",
    "old town": "polygon((13.400 52.512, 13.415 52.512, 13.415 52.522, 13.400 52.522), "
    "(13.405 52.515, 13.410 52.515, 13.410 52.519, 13.405 52.519))",
    "escort": "circle(object v1, 400)",
}
events = fences(
    reports, "areas", AREAS, object="van", x="lon", y="lat", lonlat=True, dwell="4 minutes", timeout="3 minutes"
)
events.output("events")

CUSTOMER = (13.412, 52.508)
gpac_knn(
    reports, "nearest_vans", k=3, at=CUSTOMER, object="van", x="lon", y="lat", lonlat=True, timeout="3 minutes"
).output("nearest")

reports.late.output("too_late")

STOPS = [(13.400, 52.500), (13.440, 52.518), (13.376, 52.515), (13.403, 52.514), (13.4075, 52.517), CUSTOMER]
METRES_EAST, METRES_NORTH = 67_700, 111_200  # of a degree, there


def make_reports(path: Path, minutes: int = 30, vans: int = 8, seed: int = 1) -> None:
    """A report of each van about every fifteen seconds: they drive from stop to stop, and v5 is silent for a while."""
    chance, start = random.Random(seed), datetime(2026, 3, 1, 5, tzinfo=UTC)
    arrivals = []
    for van in range(1, vans + 1):
        zone = chance.choice([UTC, timezone(timedelta(hours=1))])
        (lon, lat), stop, rest = chance.choice(STOPS), chance.choice(STOPS), 0
        for second in range(van, minutes * 60, 15):
            speed, east, north = chance.uniform(6, 18), (stop[0] - lon) * METRES_EAST, (stop[1] - lat) * METRES_NORTH
            share = min(1.0, speed * 15 / max(1.0, math.hypot(east, north)))
            if rest:
                rest, speed = rest - 1, 0.0
            elif share < 1:
                lon, lat = lon + share * (stop[0] - lon), lat + share * (stop[1] - lat)
            else:
                stop, rest = chance.choice(STOPS), chance.randrange(25)
            if van == 5 and 12 <= second / 60 < 20:
                continue
            time = start + timedelta(seconds=second + chance.choice([0, 0, 0.125]))
            text = time.astimezone(zone).isoformat().replace("+00:00", "Z")
            report = {"time": text, "van": f"v{van}", "lon": round(lon, 6), "lat": round(lat, 6), "speed": round(speed)}
            for _ in range(chance.choices([0, 1, 2], [2, 94, 4])[0]):
                delay = chance.choices([chance.uniform(0, 9), chance.uniform(30, 90)], [99.5, 0.5])[0]
                arrivals.append((time + timedelta(seconds=delay), json.dumps(report) + "\n"))
    path.write_text("".join(line for _, line in sorted(arrivals)))


if __name__ == "__main__":
    make_reports(Path("reports.jsonl"))
    print("made reports.jsonl")
