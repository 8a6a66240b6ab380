"""`make studio`: a small city with accidents, tolled live, and the city of the studio on it."""

from __future__ import annotations

import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

OUT = Path("out/studio")
LOG = OUT / "run.log"
STATUS_FILE = "status.json"
# An accident stands eastbound when the data begins; another one happens after two and a half minutes.
SIMULATE = f"linear-road simulate --out {OUT}/rush --xways 1 --seconds 900 --start-at 1200 --seed 2"
# What comes before --from runs without waiting: four reports of the first accident, and minutes to make tolls of.
RUN = f"linear-road run --data {OUT}/rush --out {OUT}/answers --speed 1 --from 180 --keep '30 minutes' --force"
STUDIO = f"studio {OUT}/answers --view city"
START_SECONDS = 180.0
END_SECONDS = 30.0
INTERRUPTED = 130
"""What a command ends with after Ctrl-C."""
TOLL = "--toll"


def main() -> None:
    """Simulate 15 minutes once, with two accidents; run them as they were; show it until Ctrl-C."""
    # Whoever ends this program ends what it started.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    shutil.rmtree(OUT / "answers", ignore_errors=True)
    OUT.mkdir(parents=True, exist_ok=True)
    print("==> Tolling 15 minutes of the rush hour live, in the background", flush=True)
    for words in (*needed(), STUDIO):
        print(f"    $ arterial {words}", flush=True)
    with LOG.open("wb") as said:
        # In a session of its own: Ctrl-C reaches this program only, which then ends the other once.
        command = [sys.executable, __file__, TOLL]
        run = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
    try:
        _wait_for_status(run)
        arterial_command(STUDIO, *sys.argv[1:])
    except KeyboardInterrupt:
        pass
    finally:
        _end(run)


def needed() -> list[str]:
    """The commands that make the run; its data is simulated only once."""
    return [RUN] if (OUT / "rush" / "city.json").exists() else [f"{SIMULATE} --force", RUN]


def toll() -> None:
    """The commands one after the other in this process, so that Spark is started once for both."""
    for words in needed():
        arterial_command(words)


def arterial_command(words: str, *more: str) -> None:
    """A command of `arterial` in this process."""
    sys.argv = ["arterial", *shlex.split(words), *more]
    try:
        runpy.run_module("arterial", run_name="__main__")
    except SystemExit as ended:
        if ended.code not in (0, INTERRUPTED):
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for_status(run: subprocess.Popen[bytes]) -> None:
    patience = time.monotonic() + START_SECONDS
    while not any((OUT / "answers" / place / STATUS_FILE).exists() for place in ("work/checkpoint", "checkpoint", ".")):
        if run.poll() is not None or time.monotonic() > patience:
            sys.exit(f"==> The run did not start: {LOG.read_text().strip() or 'it said nothing'}")
        time.sleep(0.1)


if __name__ == "__main__":
    if sys.argv[1:] == [TOLL]:
        toll()
    else:
        main()
