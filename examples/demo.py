"""`make demo`: the story of Arterial in a few minutes, each step the command that a user would type."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

OUT = Path("out/demo")
HISTORY = f"--tolls {OUT}/history --segments {OUT}/history"
STEPS = (
    (
        "Simulate a quarter of an hour in the rush",
        f"simulate --out {OUT}/city --xways 1 --seconds 900 --start-at 5400 --seed 1",
    ),
    ("Look at it", f"describe {OUT}/city --report {OUT}/city.html"),
    ("Make ten weeks of history", f"history --data {OUT}/city --out {OUT}/history"),
    (
        "Toll it: all five queries, as fast as possible",
        f"run --data {OUT}/city {HISTORY} --out {OUT}/answers --speed max",
    ),
    (
        "Judge the answers",
        f"validate --data {OUT}/city {HISTORY} --output {OUT}/answers --report {OUT}/verdict.html",
    ),
)


def main() -> None:
    """Run the steps one after the other; stop at the first that fails."""
    shutil.rmtree(OUT, ignore_errors=True)
    started = time.monotonic()
    for number, (what, words) in enumerate(STEPS, 1):
        command = ["arterial", "linear-road", *shlex.split(words)]
        print(f"\n==> {number}/{len(STEPS)} {what}\n    $ {shlex.join(command)}", flush=True)
        done = subprocess.run([sys.executable, "-m", *command])
        if done.returncode:
            sys.exit(f"\n==> The demo FAILED at step {number} ({what}), exit code {done.returncode}")
    print(f"\n==> The demo PASSED in {time.monotonic() - started:.0f} s.")
    print(f"    What the traffic was like: {OUT}/city.html\n    The verdict on the tolling: {OUT}/verdict.html")
    print(f"    The run in the browser:    {studio()}")


def studio() -> str:
    """The command that shows the run."""
    return shlex.join([str(Path(sys.executable).with_name("arterial")), "studio", f"{OUT}/answers"])


if __name__ == "__main__":
    main()
