"""Lets a process step back behind a run on the same machine, so that the run's answers are no later for it.

Linux has two scales of priority. Each thread has one. Where sessions are scheduled as groups (autogroups: each terminal
is one), it counts among the threads of its session only, and the session has one of its own. So a process that shares
its session with a shell works in a session of its own, which is set back as a whole.

What cores share, caches and memory above all, knows no priority. So the process also rests while the run is in a step.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

LOW, LOWEST = 10, 19

SPARE = 0.75
"""A machine has time to spare if less than this share of its cores' time is taken."""

LOOK_SECONDS = 0.005
"""How often it is looked whether to rest."""
SAMPLE_SECONDS, SAMPLES, LONGEST_LOOK = 0.02, 4, 0.4
"""So many times the cores are looked at for so long while the run is in no step; it takes so long in all at most."""
LONGEST_REST, WORK_SHARE = 1.0, 0.25
"""A rest takes so many seconds at most, and after it at least this share of them is worked: also behind a run that is
always in a step."""

_GROUPS = Path("/proc/sys/kernel/sched_autogroup_enabled")
_OWN_GROUP = Path("/proc/self/autogroup")
_CORES = Path("/proc/stat")
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG."""


def step_back(to: int) -> None:
    """Every thread of the process: on Linux each has a priority of its own, and most of a query's work is Polars'.

    At the lowest it runs only while a core has nothing else to do, and leaves it at once when the run wakes up. One
    that is merely nice keeps the core for some milliseconds, and a step of Spark wakes up hundreds of times.
    """
    tasks = Path("/proc/self/task")
    for thread in [int(task.name) for task in tasks.iterdir()] if tasks.is_dir() else [0]:
        with suppress(OSError):  # it has ended, or is further back already
            os.setpriority(os.PRIO_PROCESS, thread, to)
            if to == LOWEST and sys.platform == "linux":
                os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    if _leads_session():
        with suppress(OSError):
            _OWN_GROUP.write_text(str(to))


def first_step(is_busy: Callable[[], bool] = lambda: False) -> int:
    """How far to step back before the first answer: all the way where cores have time to spare while the run is in no
    step, since that is then enough. Elsewhere whoever asks would wait for minutes.

    What others do who have stepped back too takes nothing away.
    """
    if not _CORES.exists():
        return LOWEST if os.getloadavg()[0] < SPARE * (os.cpu_count() or 1) else LOW
    samples, taken, passed, until = 0, 0, 0, time.monotonic() + LONGEST_LOOK
    while samples < SAMPLES and time.monotonic() < until:
        was_busy, (taken_before, before) = is_busy(), core_time()
        time.sleep(SAMPLE_SECONDS)
        if not was_busy and not is_busy():
            taken_now, now = core_time()
            samples, taken, passed = samples + 1, taken + taken_now - taken_before, passed + now - before
    return LOWEST if samples == SAMPLES and taken < SPARE * passed else LOW


def core_time() -> tuple[int, int]:
    """How much of the cores' time is taken since the machine started, but for what was nice; and how much there was."""
    user, nice, system, idle, waiting, *interrupts_and_stolen = map(int, _CORES.read_text().split()[1:9])
    taken = user + system + sum(interrupts_and_stolen)
    return taken, taken + nice + idle + waiting


def in_own_session(is_busy: Callable[[], bool] | None = None) -> None:
    """Go on in a child with a session of its own, where sessions are groups, or to rest while the run is busy.

    This process stays for the terminal and the shell: it passes signals on, and ends as the child does. The child
    rests only once it has stepped back all the way.
    """
    if sys.platform != "linux" or _has_threads() or not (is_busy or (_sessions_are_groups() and not _leads_session())):
        return
    parent, child = os.getpid(), os.fork()
    if child:
        _stand_for(child, is_busy)
    os.setsid()
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before it could be said
        os._exit(1)


def _sessions_are_groups() -> bool:
    try:
        return _GROUPS.read_text().strip() == "1"
    except OSError:  # not Linux, or built without them
        return False


def _leads_session() -> bool:
    return sys.platform == "linux" and os.getsid(0) == os.getpid()


def _has_threads() -> bool:
    """A child has only the thread that made it, and locks of the others stay locked in it for ever."""
    return len(list(Path("/proc/self/task").iterdir())) > 1


def _stand_for(child: int, is_busy: Callable[[], bool] | None) -> None:
    def pass_on(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    def rest(number: int, frame: FrameType | None) -> None:
        os.kill(child, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(child, signal.SIGCONT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, pass_on)
    signal.signal(signal.SIGTSTP, rest)
    status = _wait_with_rests(child, is_busy) if is_busy else os.waitpid(child, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _wait_with_rests(child: int, is_busy: Callable[[], bool]) -> int:
    """How the child ended; until then it rests while the run is busy."""
    rests, since, rested = False, time.monotonic(), 0.0
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        spent = time.monotonic() - since
        steps_back = os.sched_getscheduler(child) == os.SCHED_IDLE and is_busy()
        if rests and (spent >= LONGEST_REST or not steps_back):
            os.kill(child, signal.SIGCONT)
            rests, since, rested = False, time.monotonic(), spent
        elif not rests and steps_back and spent >= WORK_SHARE * rested:
            os.kill(child, signal.SIGSTOP)
            rests, since = True, time.monotonic()
        time.sleep(LOOK_SECONDS)
