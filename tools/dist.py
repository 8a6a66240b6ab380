"""Build the wheel and the source archive, install the wheel into an empty environment, and run a network there.

python -m tools.dist        # what `make dist` calls; the archives are in dist/, the environment in build/dist/
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ARCHIVES = ROOT / "dist"
PLACE = ROOT / "build" / "dist"
# What the package needs at run time beside its code.
DATA = ("arterial/py.typed", "arterial/report/page.css", "arterial/engine/spark/log4j2.properties")
# The source archive is enough to run the project's own commands.
SOURCES = ("Makefile", "constraints.txt", "CHANGELOG.md", "docs/index.md", "examples/speeding.py", "tests/conftest.py")


def main() -> None:
    """Raise at the first thing that is wrong."""
    for folder in (ARCHIVES, PLACE):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    print("==> Building the wheel and the source archive", flush=True)
    _call(sys.executable, "-m", "build", "--outdir", ARCHIVES, ROOT)
    (wheel,), (archive,) = ARCHIVES.glob("*.whl"), ARCHIVES.glob("*.tar.gz")
    check_wheel(wheel)
    check_archive(archive)
    print("==> Installing the wheel into an empty environment", flush=True)
    venv.create(PLACE / "env", with_pip=True)
    python = PLACE / "env" / "bin" / "python"
    _call(python, "-m", "pip", "install", "--disable-pip-version-check", "-c", ROOT / "constraints.txt", wheel)
    print("==> Running a network there", flush=True)
    run_a_network(python)
    print(f"==> {wheel.relative_to(ROOT)} and {archive.relative_to(ROOT)} are ready")


def check_wheel(wheel: Path) -> None:
    """The wheel holds the package with its data, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    if missing := [name for name in DATA if name not in names]:
        raise SystemExit(f"{wheel.name} lacks {', '.join(missing)}; see [tool.setuptools.package-data]")
    tops = {name.split("/")[0] for name in names}
    if foreign := {top for top in tops if top != "arterial" and not top.endswith(".dist-info")}:
        raise SystemExit(f"{wheel.name} must hold only the package; it also holds {', '.join(sorted(foreign))}")
    code = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "arterial").rglob("*.py")}
    if left_out := sorted(code - set(names)):
        raise SystemExit(f"{wheel.name} lacks {', '.join(left_out)}; does each folder have an __init__.py?")


def check_archive(archive: Path) -> None:
    """The source archive holds what the project's commands read."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    if missing := [name for name in SOURCES if name not in names]:
        raise SystemExit(f"{archive.name} lacks {', '.join(missing)}; see MANIFEST.in")


def run_a_network(python: Path) -> None:
    """The example runs on Spark in a folder where nothing else of the project is, and gives the right alerts."""
    folder = PLACE / "empty"
    folder.mkdir()
    shutil.copy(ROOT / "examples" / "speeding.py", folder)
    arterial = python.with_name("arterial")
    _call(python, "speeding.py", folder=folder)
    words = ["run", "speeding.py:net", "--source", "reports=reports.parquet", "--out", "out", "--merge", "--json"]
    summary = json.loads(_call(arterial, *words, folder=folder).splitlines()[-1])
    count = "import polars; print(polars.read_parquet('out/alerts.parquet').height)"
    alerts = int(_call(python, "-c", count, folder=folder))
    if (summary["tuples_in"], alerts) != (12_000, 285):
        raise SystemExit(f"expected 285 alerts of 12,000 tuples, got {alerts} of {summary['tuples_in']:,}")


def _call(*words: object, folder: Path = ROOT) -> str:
    """Run a command without the project on its path; give what it printed."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        command = " ".join(map(str, words))
        raise SystemExit(f"{command}\nfailed with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
