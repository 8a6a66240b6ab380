"""`make demo`: the story of Arterial in a few minutes, each step the command that a user would type."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

OUT = Path("out/demo")
STEPS = (
    ("Simulate a short rush hour", f"simulate --out {OUT}/city --xways 1 --seconds 600 --start-at 6000 --seed 1"),
    ("Show it", f"describe {OUT}/city --report {OUT}/city.html"),
    ("Make ten weeks of history", f"history --data {OUT}/city --out {OUT}/history"),
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
            sys.exit(f"==> The demo FAILED at step {number} ({what}), exit code {done.returncode}")
    print(f"\n==> The demo PASSED in {time.monotonic() - started:.0f} s. Open {OUT}/city.html for the pictures.")


if __name__ == "__main__":
    main()
