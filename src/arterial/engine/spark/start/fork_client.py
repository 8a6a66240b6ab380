"""The program that Spark takes for Python: it has the process of `forks` fork instead, and lives as long as the fork.

Runs without the standard site and by itself (`python -I -S fork_client.py SOCKET -m MODULE …`), so that it starts in
hundredths of a second. If there is nobody behind the socket it becomes the Python that was asked for.
"""

from __future__ import annotations

import marshal
import os
import struct
import sys
from socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

_STREAMS = struct.pack("3i", 0, 1, 2)


def main(place: str, arguments: list[str]) -> int:
    """Ask for a fork and wait for its end; its exit code."""
    server = socket(AF_UNIX, SOCK_STREAM)
    try:
        server.connect(place)
    except OSError:
        os.execv(sys.executable, [sys.executable, *arguments])
    request = marshal.dumps((arguments, dict(os.environ), os.getcwd()))  # noqa: PTH109 (pathlib takes longer to import)
    server.sendmsg([struct.pack("!i", len(request))], [(SOL_SOCKET, SCM_RIGHTS, _STREAMS)])
    server.sendall(request)
    os.close(0)  # the fork has them; who waits for their end must not wait for us
    os.close(1)
    code = server.recv(1)
    return code[0] if code else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
