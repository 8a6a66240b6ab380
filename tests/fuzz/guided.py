"""Searches one target by coverage with atheris: `python -m tests.fuzz.guided TARGET FOLDER [options of libFuzzer]`."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris


def main() -> None:
    """Put the seeds into the folder, and search."""
    name, folder, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["arterial", "sqlglot"]):
        from tests.fuzz.targets import TARGETS
    target, seeds = TARGETS[name], Path(folder) / "seeds"
    seeds.mkdir()
    for number, seed in enumerate(target.seeds):
        (seeds / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], str(seeds), *options], target.survives)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
