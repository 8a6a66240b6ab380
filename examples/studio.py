"""`make studio`: a small city with accidents, tolled live, and the city of the studio on it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

OUT = Path("out/studio")
STATUS_FILE = "status.json"
SIMULATE = f"linear-road simulate --out {OUT}/city --xways 1 --seconds 900 --start-at 1800 --density 2 --seed 1"
RUN = f"linear-road run --data {OUT}/city --out {OUT}/answers --speed 1 --keep '30 minutes' --force"
START_SECONDS = 180.0


def main() -> None:
    """Simulate 15 minutes once, with two accidents; run them as they were; show it until Ctrl-C."""
    if not (OUT / "city").exists():
        print(f"==> Simulating 15 minutes of rush\n    $ arterial {SIMULATE}", flush=True)
        _arterial(SIMULATE).wait()
    shutil.rmtree(OUT / "answers", ignore_errors=True)
    print(f"==> Tolling it live\n    $ arterial {RUN}", flush=True)
    run = _arterial(RUN, stdout=subprocess.DEVNULL)
    try:
        _wait_for_status(run)
        _arterial(f"studio {OUT}/answers --view city", *sys.argv[1:]).wait()
    except KeyboardInterrupt:
        pass
    finally:
        run.terminate()
        run.wait(30)


def _arterial(words: str, *more: str, stdout: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "arterial", *shlex.split(words), *more], stdout=stdout)


def _wait_for_status(run: subprocess.Popen[bytes]) -> None:
    patience = time.monotonic() + START_SECONDS
    while not any((OUT / "answers" / place / STATUS_FILE).exists() for place in ("work/checkpoint", "checkpoint", ".")):
        if run.poll() is not None or time.monotonic() > patience:
            sys.exit("==> The run did not start")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
