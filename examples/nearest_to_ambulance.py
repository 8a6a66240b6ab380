"""Linear Road's vehicles are moving objects too: which five are nearest to an ambulance, as it drives.

    python examples/nearest_to_ambulance.py [DATA]

DATA is the folder of a simulated data set; without it five minutes of one expressway are simulated first.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from arterial.moving import MovingNearest, SharedExecution

REPORT_SECONDS = 30
LANE_FEET = 12.0
EXPRESSWAY_FEET = 10 * 5280.0


def main(data: Path) -> None:
    """Follow the vehicle that is on the road for longest, and tell who is near."""
    reports = pl.read_parquet(data / "events" / "*.parquet").filter(pl.col("type") == 0).sort("time", "vid")
    ambulance = reports.group_by("vid").len().sort("len", "vid", descending=[True, False])["vid"][0]
    print(f"{reports['vid'].n_unique():,} vehicles; vehicle {ambulance} is the ambulance")
    engine = SharedExecution(timeout=REPORT_SECONDS + 1)
    engine.register("nearest", MovingNearest(k=5, focal=int(ambulance)))
    # Feet along the road, and across it: westward lanes lie on the other side, expressways ten miles apart.
    lane = (pl.col("lane") + 1) * LANE_FEET * (1 - 2 * pl.col("dir").cast(pl.Int64))
    placed = reports.select("time", "vid", x=pl.col("pos"), y=pl.col("xway") * EXPRESSWAY_FEET + lane)
    changes = 0
    for (second,), unit in placed.group_by("time", maintain_order=True):
        slots = engine.objects_of(unit["vid"].cast(pl.Int64).to_numpy())
        x, y = (unit[axis].cast(pl.Float64).to_numpy() for axis in ("x", "y"))
        for update in engine.updates(engine.step(float(np.int64(second)), slots, x, y)):
            changes += 1
            if changes <= 20:
                print(f"{second:5} s  {update.sign.value} vehicle {update.object}")
    nearest = ", ".join(str(vehicle) for vehicle in sorted(engine.answers()["nearest"], key=str))
    print(f"{changes:,} changes; at the end: {nearest or 'nobody, as the ambulance has left'}")


def simulated(folder: str) -> Path:
    """Five minutes of one expressway."""
    out = Path(folder) / "city"
    options = ["--xways", "1", "--seconds", "300", "--seed", "1"]
    command = [sys.executable, "-m", "arterial", "linear-road", "simulate", "--out", str(out), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(simulated(folder))
