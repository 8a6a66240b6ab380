"""Runs a command and waits for all processes that it leaves: `python -m benchmarks.with_descendants COMMAND …` (Linux).

What they used is then counted as this process' children's (`RUSAGE_CHILDREN`). Else that of processes whose parent
ended before them, as Java's do under PySpark, is counted nowhere.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Orphans become children of this process, which waits for them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    done = subprocess.run(sys.argv[1:], check=False)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
