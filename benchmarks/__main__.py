"""`python -m benchmarks [NAME …]`: run the named benchmarks, or all; print a table and write build/bench.json.

A benchmark is a module `benchmarks/bench_*.py` with a function `measure() -> list[Figure]`.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

import benchmarks
from benchmarks.figure import Figure, table

RESULTS = Path("build/bench.json")


def main(wanted: list[str]) -> None:
    """Run benchmarks and show every figure beside its target."""
    names = sorted(
        module.name.removeprefix("bench_")
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name.startswith("bench_")
    )
    if unknown := set(wanted) - set(names):
        sys.exit(f"unknown benchmark: {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    figures: list[Figure] = []
    for name in wanted or names:
        sys.stderr.write(f"==> {name}\n")
        figures += importlib.import_module(f"benchmarks.bench_{name}").measure()
    Console(width=160).print(table(figures))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(
        json.dumps(
            {
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "machine": {
                    "cores": os.cpu_count(),
                    "system": platform.platform(),
                    "python": platform.python_version(),
                },
                "figures": [{**asdict(figure), "met": figure.met} for figure in figures],
            },
            indent=2,
        )
    )
    sys.stderr.write(f"==> written to {RESULTS}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
