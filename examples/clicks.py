"""Visits to a site: the clicks of a user that follow each other at most 30 seconds apart are one visit.

arterial run examples/clicks.py --source clicks=clicks.csv --local --merge -f csv
"""

from __future__ import annotations

import arterial as art

net = art.Network("clicks")
clicks = net.source("clicks", {"time": int, "user": str, "page": str})
clicks.group_by("user").session("visit", gap=30, clicks="count(*)", first="min(time)").output("visits")
