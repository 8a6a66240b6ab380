"""A process that steps back behind a run: its priority, and the session that it works in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arterial.engine.host import step_back

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="priorities of threads are Linux's")

IN_OWN_SESSION = """
import os, sys, time, signal
from pathlib import Path
from arterial.engine.host import step_back
step_back._GROUPS = Path(sys.argv[1])
busy = Path(sys.argv[3]) if len(sys.argv) > 3 else None
step_back.in_own_session(busy and busy.exists)
def ask(number, frame):
    print("asked to stop", flush=True)
    os._exit(7)
signal.signal(signal.SIGTERM, ask)
step_back.step_back(step_back.LOWEST)
print(os.getpid(), os.getsid(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), flush=True)
time.sleep(float(sys.argv[2]))
sys.exit(3)
"""


def started(
    tmp_path: Path, enabled: str = "1", sleep: float = 30, busy: Path | None = None
) -> tuple[subprocess.Popen[str], list[int]]:
    groups = tmp_path / "enabled"
    groups.write_text(enabled)
    words = [sys.executable, "-c", IN_OWN_SESSION, str(groups), str(sleep), *([str(busy)] if busy else [])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


def test_it_works_in_a_session_of_its_own_where_sessions_are_groups(tmp_path: Path) -> None:
    process, (pid, session, nice, policy) = started(tmp_path, sleep=0)
    assert pid == session != process.pid
    assert (nice, policy) == (19, os.SCHED_IDLE)
    process.communicate()
    assert process.returncode == 3


def test_it_stays_where_it_is_elsewhere(tmp_path: Path) -> None:
    process, (pid, session, nice, policy) = started(tmp_path, enabled="0", sleep=0)
    assert (pid, session) == (process.pid, os.getsid(0))
    assert (nice, policy) == (19, os.SCHED_IDLE)
    process.communicate()
    assert process.returncode == 3


def test_signals_are_passed_on(tmp_path: Path) -> None:
    process, _ = started(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.communicate()[0] == "asked to stop\n"
    assert process.returncode == 7


def test_it_ends_with_the_process_that_stands_for_it(tmp_path: Path) -> None:
    process, (pid, *_) = started(tmp_path)
    process.kill()
    process.communicate()  # the child holds standard output too: this returns when it is gone
    until = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_process_that_ends_by_a_signal_is_seen_to(tmp_path: Path) -> None:
    process, (pid, *_) = started(tmp_path)
    os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_it_rests_while_the_run_is_busy_but_not_for_ever(tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    process, (pid, *_) = started(tmp_path, enabled="0", busy=busy)
    assert pid != process.pid
    assert not is_at_rest(pid)
    busy.touch()
    began = time.monotonic()
    wait_for(lambda: is_at_rest(pid))
    wait_for(lambda: not is_at_rest(pid))
    assert time.monotonic() - began > 0.9 * step_back.LONGEST_REST
    wait_for(lambda: is_at_rest(pid))
    busy.unlink()
    wait_for(lambda: not is_at_rest(pid))
    busy.touch()
    wait_for(lambda: is_at_rest(pid))
    process.send_signal(signal.SIGTERM)  # it is heard when the child works on
    assert process.communicate()[0] == "asked to stop\n"
    assert process.returncode == 7


def is_at_rest(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def wait_for(happens: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.001)


@pytest.mark.parametrize(
    ("between_steps", "in_steps", "steps", "expected"),
    [
        (0.1, 0.1, "", step_back.LOWEST),
        (0.1, 1.0, "110", step_back.LOWEST),
        (0.9, 0.9, "", step_back.LOW),
        (0.9, 0.1, "10", step_back.LOW),
        (0.0, 0.0, "1", step_back.LOW),
    ],
)
def test_it_goes_all_the_way_at_once_where_there_is_time_to_spare_between_steps(
    between_steps: float, in_steps: float, steps: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`steps` says of each moment whether the run is in one, over and over."""
    now = 0

    def pass_time(seconds: float) -> None:
        nonlocal now
        now += 1

    def is_in_step_at(moment: int) -> bool:
        return bool(steps) and steps[moment // 6 % len(steps)] == "1"

    def core_time() -> tuple[int, int]:
        taken = [in_steps if is_in_step_at(moment) else between_steps for moment in range(now)]
        return round(100 * sum(taken)), 100 * now

    monkeypatch.setattr(step_back.time, "sleep", pass_time)
    monkeypatch.setattr(step_back.time, "monotonic", lambda: now * step_back.SAMPLE_SECONDS)
    monkeypatch.setattr(step_back, "core_time", core_time)
    assert step_back.first_step(lambda: is_in_step_at(now)) == expected


def test_what_is_nice_is_not_taken_from_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cores = tmp_path / "stat"
    cores.write_text("cpu  100 5000 30 800 60 4 5 1 0 0\ncpu0 50 2500 15 400 30 2 3 0 0 0\n")
    monkeypatch.setattr(step_back, "_CORES", cores)
    assert step_back.core_time() == (140, 6000)
    cores.unlink()
    for load, expected in ((0.1, step_back.LOWEST), (1e6, step_back.LOW)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert step_back.first_step() == expected
