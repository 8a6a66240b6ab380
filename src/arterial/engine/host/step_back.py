"""Lets a process step back behind a run on the same machine, so that the run's answers are no later for it.

Linux has two scales of priority. Each thread has one. Where sessions are scheduled as groups (autogroups: each terminal
is one), it counts among the threads of its session only, and the session has one of its own. So a process that shares
its session with a shell works in a session of its own, which is set back as a whole.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType

LOW, LOWEST = 10, 19

SPARE = 0.75
"""A machine has time to spare if its load is below this share of its cores."""

_GROUPS = Path("/proc/sys/kernel/sched_autogroup_enabled")
_OWN_GROUP = Path("/proc/self/autogroup")
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


def first_step() -> int:
    """How far to step back before the first answer: all the way where the machine has time to spare, since that is
    then enough. Elsewhere whoever asks would wait for minutes."""
    return LOWEST if os.getloadavg()[0] < SPARE * (os.cpu_count() or 1) else LOW


def in_own_session() -> None:
    """Go on in a child with a session of its own, where sessions are groups.

    This process stays for the terminal and the shell: it passes signals on, and ends as the child does.
    """
    if not _sessions_are_groups() or _leads_session() or _has_threads():
        return
    parent, child = os.getpid(), os.fork()
    if child:
        _stand_for(child)
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


def _stand_for(child: int) -> None:
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
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
