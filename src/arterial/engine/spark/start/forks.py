"""One process that has loaded what Spark's Python processes need; Spark's are forks of it (decision 31).

For a query Spark starts half a dozen Python processes one after the other, each of which imports pyspark, pandas and
pyarrow for a second. On one machine they can all be forks of a process that has done so while Java starts.
`start_forks` gives a program to be used as Spark's Python. That program (`fork_client`) hands its standard streams,
arguments and environment to this process and waits. Who kills the program kills the fork; and when the process that
called `start_forks` is gone, so are all forks.
"""

from __future__ import annotations

import gc
import marshal
import os
import runpy
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from socket import AF_UNIX, SOCK_STREAM, recv_fds, socket, socketpair

_CLIENT = Path(__file__).with_name("fork_client.py")
_DAEMONS = ("pyspark.daemon", "arterial.engine.spark.start.daemon")
_kept: list[subprocess.Popen[bytes]] = []


@cache
def start_forks() -> Path:
    """Start the process; the program that asks it for forks. It ends with the process that calls this."""
    folder = Path(tempfile.mkdtemp(prefix="arterial-forks-"))
    place, program = folder / "socket", folder / "python"
    client = shlex.join([sys.executable, "-I", "-S", str(_CLIENT), str(place)])
    program.write_text(f'#!/bin/sh\nexec {client} "$@"\n')
    program.chmod(0o700)
    listening = socket(AF_UNIX, SOCK_STREAM)
    listening.bind(str(place))
    listening.listen(64)
    theirs, _ = os.pipe()  # the other end is open as long as this process lives
    # As Spark starts its own: one thread for each, and texts that hash the same in all of them.
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": "0"}
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, str(listening.fileno()), str(folder)],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        pass_fds=[listening.fileno()],
        preexec_fn=ignore_interrupts,
    )
    listening.close()
    os.close(theirs)
    _kept.append(server)
    return program


def ignore_interrupts() -> None:
    """In a process that is started: Ctrl-C is for the one that starts it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Server:
    """Waits for requests, for the end of forks, and for the end of who is served."""

    def __init__(self, listening: socket) -> None:
        self._listening = listening
        self._forks: dict[int, socket] = {}
        self._selector = DefaultSelector()
        self._selector.register(listening, EVENT_READ)
        self._selector.register(0, EVENT_READ)
        self._woken, self._waker = socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._selector.register(self._woken, EVENT_READ)

    def serve(self) -> list[str] | None:
        """Serve until standard input ends; in a fork, return what it was asked to run."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno())
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listening:
                    request = self._fork()
                    if request is not None:
                        return request
                elif key.fileobj is self._woken:
                    self._reap()
                elif key.fileobj == 0:
                    for pid in self._forks:
                        _kill(pid)
                    return None
                else:  # the program that asked for a fork was killed, unless the fork has just ended
                    for pid in [pid for pid, asker in self._forks.items() if asker is key.fileobj]:
                        self._selector.unregister(key.fileobj)
                        _kill(pid)

    def _fork(self) -> list[str] | None:
        asker, _ = self._listening.accept()
        try:
            size, streams, _, _ = recv_fds(asker, 4, 3)
            request = _receive(asker, struct.unpack("!i", size)[0])
            arguments, environment, folder = marshal.loads(request)
        except (OSError, EOFError, ValueError, struct.error):  # it was killed while it asked
            asker.close()
            return None
        pid = os.fork()
        if pid:
            self._forks[pid] = asker
            self._selector.register(asker, EVENT_READ)
            for stream in streams:
                os.close(stream)
            return None
        asker.close()
        self._leave()
        _become(streams, environment, folder)
        return list(arguments)

    def _leave(self) -> None:
        """Undo in a fork what makes this process a server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for open_one in (self._listening, self._woken, self._waker, *self._forks.values()):
            open_one.close()

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(1024):
                pass
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                asker = self._forks.pop(ended[0])
                with suppress(KeyError):
                    self._selector.unregister(asker)
                with suppress(OSError):
                    asker.send(bytes([os.waitstatus_to_exitcode(ended[1]) & 0xFF]))
                asker.close()


def _receive(asker: socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = asker.recv(size - len(received))
        if not more:
            raise EOFError
        received += more
    return received


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def _become(streams: list[int], environment: dict[str, str], folder: str) -> None:
    """Take the streams, the environment and the folder of the program that asked."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    more = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[1:1] = [entry for entry in more if entry not in sys.path]


def _run(arguments: list[str]) -> None:
    """What `python -m MODULE …` does, in a process that has most of it loaded."""
    if arguments[:1] != ["-m"]:  # Spark asks for the version of Python with some settings
        os.execv(sys.executable, [sys.executable, *arguments])
    _, module, *others = arguments
    sys.argv = [module, *others]
    if module in _DAEMONS:
        from arterial.engine.spark.start import daemon

        daemon.main()
        return
    sys.modules.pop(module, None)  # the module runs as __main__, and is imported once more if anything asks for it
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _main(descriptor: int, folder: str) -> None:
    listening = socket(fileno=descriptor)
    from arterial.engine.spark.start import preloaded  # noqa: F401

    gc.collect()
    gc.freeze()
    asked = _Server(listening).serve()
    if asked is not None:
        _run(asked)
    else:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2])
