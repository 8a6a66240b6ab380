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


@pytest.mark.parametrize(("load", "expected"), [(0.1, step_back.LOWEST), (1e6, step_back.LOW)])
def test_it_goes_all_the_way_at_once_where_there_is_time_to_spare(
    load: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert step_back.first_step() == expected
