"""What a process and all its descendants use: processor time and memory, sampled while they run (Linux)."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 1.0
NEWBORN_SECONDS = 0.5
"""Java starts other programs from copies of itself, which for an instant seem to have all of its memory again."""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """`cores` is the mean number of busy cores; `memory` the largest resident memory of all together, in bytes."""

    cores: float
    memory: int


class Meter:
    """Samples a process tree from its beginning to `stop`."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._spent: dict[int, float] = {}
        self._memory = 0
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="meter", daemon=True)
        self._thread.start()

    def stop(self) -> Usage:
        """End the sampling; what was used."""
        self._over.set()
        self._thread.join()
        elapsed = max(time.monotonic() - self._began, 1e-9)
        return Usage(sum(self._spent.values()) / elapsed, self._memory)

    def _watch(self) -> None:
        while True:
            self._sample()
            if self._over.wait(SAMPLE_SECONDS):
                return

    def _sample(self) -> None:
        parents: dict[int, int] = {}
        pages: dict[int, int] = {}
        grown = (time.clock_gettime(time.CLOCK_BOOTTIME) - NEWBORN_SECONDS) * _TICKS
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    # The name in parentheses may hold anything, so the fields are counted from its end.
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                pid = int(entry.name)
                parents[pid] = int(fields[1])
                pages[pid] = int(fields[21]) if int(fields[19]) < grown else 0
                if self._is_below(pid, parents):
                    self._spent[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
        mine = [pid for pid in parents if self._is_below(pid, parents)]
        self._memory = max(self._memory, sum(pages[pid] for pid in mine) * _PAGE)

    def _is_below(self, pid: int, parents: dict[int, int]) -> bool:
        while pid in parents and pid != self._root:
            pid = parents[pid]
        return pid == self._root


def machine() -> dict[str, str | int]:
    """The hardware, as a rating must state it."""
    model = "unknown processor"
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"processor": model, "cores": os.cpu_count() or 1, "memory_gib": round(memory / 2**30)}
