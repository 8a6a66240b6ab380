"""Sensors: a sliding average of each, and an alert at the third hot reading in a row.

arterial run examples/sensors.py --source readings=readings.csv --local --merge -f csv
"""

from __future__ import annotations

import arterial as art

net = art.Network("sensors")
readings = net.source("readings", {"time": int, "sensor": str, "celsius": float})
by_sensor = readings.group_by("sensor")
by_sensor.slide("mean_of_a_minute", over=60, every=20, mean="avg(celsius)", n="count(*)").output("means")
by_sensor.in_a_row("three_hot", "celsius > 30", n=3).output("alerts")
