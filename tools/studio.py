"""The studio's page: `python -m tools.studio` writes the OpenAPI schema, makes the client's types of it, and builds.

With `--check` it builds aside and compares with what is committed. Users need none of this: the built page is part of
the package. It needs Node and npm.
"""

from __future__ import annotations

import filecmp
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "studio"
BUILT = ROOT / "src" / "arterial" / "studio" / "page"
SCHEMA = SOURCES / "openapi.json"


def schema() -> str:
    """The OpenAPI schema of the studio's server, as text."""
    from arterial.drawing import Network
    from arterial.studio.app import make_app
    from arterial.studio.subject import Drawn

    return json.dumps(make_app(Drawn(Network("schema").value)).openapi(), indent=1, ensure_ascii=False) + "\n"


def build(into: Path) -> None:
    """Build the page."""
    _npm("run", "build", "--", "--outDir", str(into), "--emptyOutDir", "--logLevel", "warn")


def differences(one: Path, other: Path) -> list[str]:
    """The files that are not the same in two folders."""
    names = {path.relative_to(folder) for folder in (one, other) for path in folder.rglob("*") if path.is_file()}
    return sorted(
        str(name)
        for name in names
        if not (one / name).exists()
        or not (other / name).exists()
        or not filecmp.cmp(one / name, other / name, shallow=False)
    )


def main() -> int:
    """Build, or check."""
    if shutil.which("npm") is None:
        print("==> Left out: building the studio's page, since npm is not installed here")
        return 0
    if not (SOURCES / "node_modules").is_dir():
        _npm("install", "--no-save")
    if "--check" not in sys.argv[1:]:
        SCHEMA.write_text(schema())
        _npm("run", "client")
        build(BUILT)
        return 0
    if SCHEMA.read_text() != schema():
        print(f"{SCHEMA.relative_to(ROOT)} is out of date; run: python -m tools.studio")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder) / "page")
        different = differences(BUILT, Path(folder) / "page")
    if different:
        print(f"the built page is out of date ({', '.join(different)}); run: python -m tools.studio")
    return 1 if different else 0


def _npm(*command: str) -> None:
    subprocess.run(["npm", "--silent", *command], cwd=SOURCES, check=True)


if __name__ == "__main__":
    sys.exit(main())
