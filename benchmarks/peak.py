"""How much memory a command needs, with all processes that it starts."""

from __future__ import annotations

import threading

import psutil


class Peak:
    """The most memory that a process and its children held at once, shared pages counted once (proportional size)."""

    def __init__(self, pid: int) -> None:
        self._process, self._over, self.bytes = psutil.Process(pid), threading.Event(), 0
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            total = 0
            try:
                family = [self._process, *self._process.children(recursive=True)]
            except psutil.Error:
                return
            for process in family:
                try:
                    total += process.memory_full_info().pss
                except psutil.Error:
                    continue  # it has just ended
            self.bytes = max(self.bytes, total)
