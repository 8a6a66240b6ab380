"""`make studio`: a small city with accidents, tolled live, and the city of the studio on it."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

OUT = Path("out/studio")
STATUS_FILE = "status.json"
# An accident stands eastbound when the data begins; another one happens after two and a half minutes.
SIMULATE = f"linear-road simulate --out {OUT}/rush --xways 1 --seconds 900 --start-at 1200 --seed 2"
# What comes before --from runs without waiting: four reports of the first accident, and minutes to make tolls of.
RUN = f"linear-road run --data {OUT}/rush --out {OUT}/answers --speed 1 --from 180 --keep '30 minutes' --force"
START_SECONDS = 180.0
END_SECONDS = 30.0


def main() -> None:
    """Simulate 15 minutes once, with two accidents; run them as they were; show it until Ctrl-C."""
    # Whoever ends this program ends what it started.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    started: list[subprocess.Popen[bytes]] = []
    try:
        if not (OUT / "rush" / "city.json").exists():
            print(f"==> Simulating 15 minutes of the rush hour, once\n    $ arterial {SIMULATE}", flush=True)
            started.append(_arterial(f"{SIMULATE} --force"))
            if started[-1].wait():
                sys.exit("==> The simulation failed")
        shutil.rmtree(OUT / "answers", ignore_errors=True)
        print(f"==> Tolling it live\n    $ arterial {RUN}", flush=True)
        log = OUT / "run.log"
        with log.open("wb") as said:
            started.append(_arterial(RUN, output=said.fileno()))
        _wait_for_status(started[-1], log)
        started.append(_arterial(f"studio {OUT}/answers --view city", *sys.argv[1:]))
        started[-1].wait()
    except KeyboardInterrupt:
        pass
    finally:
        for process in reversed(started):
            _end(process)


def _arterial(words: str, *more: str, output: int | None = None) -> subprocess.Popen[bytes]:
    """A command in a session of its own: Ctrl-C reaches this program only, which then ends each of them once."""
    command = [sys.executable, "-m", "arterial", *shlex.split(words), *more]
    return subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for_status(run: subprocess.Popen[bytes], log: Path) -> None:
    patience = time.monotonic() + START_SECONDS
    while not any((OUT / "answers" / place / STATUS_FILE).exists() for place in ("work/checkpoint", "checkpoint", ".")):
        if run.poll() is not None or time.monotonic() > patience:
            sys.exit(f"==> The run did not start: {log.read_text().strip() or 'it said nothing'}")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
