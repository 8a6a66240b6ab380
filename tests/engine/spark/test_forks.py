"""Python processes that are forks of one: they behave as those that Spark would start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arterial.engine.spark.start.forks import start_forks

# A module that a fork runs: it says what it sees, and then does as it is asked.
_MODULE = """
import os, signal, sys, threading
def main():
    print(os.getpid(), sys.argv[1:], os.environ.get("WHO"), os.getcwd(), __name__, flush=True)
    print("trouble", file=sys.stderr, flush=True)
    word = sys.stdin.readline().strip()
    if word.isdigit():
        sys.exit(int(word))
    if word == "raise":
        raise ValueError("told to")
main()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forks")
    (folder / "asked.py").write_text(_MODULE)
    return folder


def start(place: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [start_forks(), "-m", "asked", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place), "WHO": "a fork"},
    )


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


@pytest.mark.parametrize(("word", "code"), [("0", 0), ("7", 7), ("raise", 1), ("", 0)])
def test_streams_arguments_environment_and_exit_code(place: Path, word: str, code: int) -> None:
    asked = start(place, "one", "two words")
    out, trouble = asked.communicate(word + "\n", timeout=60)
    assert out.split(maxsplit=1)[1] == f"['one', 'two words'] a fork {place} __main__\n"
    assert int(out.split()[0]) != asked.pid
    assert trouble.startswith("trouble\n")
    assert ("ValueError: told to" in trouble) == (word == "raise")
    assert asked.returncode == code


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_who_kills_the_program_kills_the_fork(place: Path, how: signal.Signals) -> None:
    asked = start(place)
    assert asked.stdout is not None
    pid = int(asked.stdout.readline().split()[0])
    asked.send_signal(how)
    asked.wait(30)
    until(lambda: gone(pid))
    for stream in (asked.stdin, asked.stdout, asked.stderr):
        assert stream is not None
        stream.close()


def test_a_fork_that_is_killed_ends_the_program(place: Path) -> None:
    asked = start(place)
    assert asked.stdout is not None
    os.kill(int(asked.stdout.readline().split()[0]), signal.SIGKILL)
    asked.communicate(timeout=30)
    assert asked.returncode not in (0, None)


def test_forks_end_with_the_process_that_started_them(place: Path) -> None:
    script = (
        "import os, subprocess, time\n"
        "from arterial.engine.spark.start.forks import start_forks\n"
        "program = start_forks()\n"
        "asked = subprocess.Popen([program, '-m', 'asked'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "print(asked.stdout.readline().split()[0].decode(), asked.pid, program.parent, flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), *sys.path])}
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
    assert owner.stdout is not None
    fork, client, folder = owner.stdout.readline().split()
    owner.kill()
    owner.communicate()
    until(lambda: gone(int(fork)) and gone(int(client)))
    until(lambda: not Path(folder).exists())


def test_without_the_process_it_is_a_python_of_its_own(place: Path, tmp_path: Path) -> None:
    client = Path(start_forks.__wrapped__.__code__.co_filename).with_name("fork_client.py")
    arguments = [sys.executable, "-I", "-S", str(client), str(tmp_path / "nobody"), "-m", "asked", "alone"]
    environment = {**os.environ, "PYTHONPATH": str(place), "WHO": "itself"}
    done = subprocess.run(
        arguments, input="3\n", capture_output=True, text=True, timeout=60, env=environment, cwd=place, check=False
    )
    assert done.stdout.split(maxsplit=1)[1] == f"['alone'] itself {place} __main__\n"
    assert done.returncode == 3
