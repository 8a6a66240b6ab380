"""Visits to a site: the clicks of a user that follow each other at most ten minutes apart are one visit.

python examples/clicks.py                        # makes the folder clicks
arterial run examples/clicks.py --source clicks=clicks --local --merge -f csv

docs/tutorial/clicks.md builds it step by step.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import arterial as art

net = art.Network("clicks")
clicks = net.source("clicks", {"time": "timestamp", "click": int, "user": str, "page": str}, disorder="5 s")
known = clicks.filter("known", "user is not null")
once = known.group_by("user").deduplicate("once", "click", within="1 minute")
visits = once.session(
    "visit",
    gap="10 minutes",
    since="window_start()",
    clicks="count(*)",
    entry="first(page)",
    leaving="last(page)",
)
visits.output("visits")

lengths = visits.map("length", minutes="round((epoch(time) - epoch(since)) / 60, 1)")
hours = lengths.group_by(name="all").tumble(
    "hour",
    every="1 hour",
    visits="count(*)",
    bounces="sum(if(clicks = 1, 1, 0))",
    median_clicks="median(clicks)",
    longest="max(minutes)",
)
hours.output("hours")

clicks.late.output("too_late")

PAGES = ["/", "/news", "/shop", "/shop/cart", "/help"]


def make_clicks(folder: Path, hours: int = 4, users: int = 12, seed: int = 1) -> None:
    """The clicks of some users, as two servers logged them: one in UTC with fractions, one in local time without."""
    chance, start = random.Random(seed), datetime(2026, 3, 1, 5, tzinfo=UTC)
    arrivals: dict[str, list[tuple[datetime, str]]] = {"web1.csv": [], "web2.csv": []}
    click = 0
    for number in range(users):
        user, time = "" if number == 3 else f"user{number}", start
        while (time := time + _pause(chance)) < start + timedelta(hours=hours):
            click, page = click + 1, chance.choice(PAGES)
            for server in chance.choices([["web1.csv"], ["web2.csv"], ["web1.csv", "web2.csv"]], [48, 48, 4])[0]:
                delay = chance.choices([chance.uniform(0, 4), chance.uniform(20, 90)], [99, 1])[0]
                line = f"{_text(time, server)},{click},{user},{page}\n"
                arrivals[server].append((time + timedelta(seconds=delay), line))
    folder.mkdir(exist_ok=True)
    for server, lines in arrivals.items():
        (folder / server).write_text("time,click,user,page\n" + "".join(line for _, line in sorted(lines)))


def _pause(chance: random.Random) -> timedelta:
    """Until a user's next click: some seconds, sometimes long enough for another visit."""
    seconds = chance.choices([chance.expovariate(1 / 60), chance.uniform(500, 4000)], [80, 20])[0]
    return timedelta(milliseconds=round(seconds * 1000))


def _text(time: datetime, server: str) -> str:
    if server == "web1.csv":
        return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return time.astimezone(timezone(timedelta(hours=1))).isoformat(timespec="seconds")


if __name__ == "__main__":
    make_clicks(Path("clicks"))
    print("made clicks/web1.csv and clicks/web2.csv")
