"""The versions of a network in its checkpoint: `versions.json`, and the files that it names.

A version exists once `versions.json`, which is replaced whole, names it. Files are named by their content, so one that
a killed replacement left is never taken for another's; what nothing names is removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arterial.connectors.sink import Sink
from arterial.engine.run.checkpoint.trusted import load_pickle
from arterial.engine.run.versions.versions import Version
from arterial.engine.spark.packed_work import pickled
from arterial.errors import ArterialError, NetworkError, RunError
from arterial.network.network import NetworkValue
from arterial.network.serial import from_json, to_json
from arterial.storage.place import OWN, PRIVATE, make_folder, put_in_place, remove

VERSIONS = "versions.json"
NETWORKS = "networks"


class VersionFiles:
    """The versions that a checkpoint keeps."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: list[dict[str, Any]] = []
        self._sinks: dict[str, str] = {}
        if (folder / VERSIONS).exists():
            self._read()

    def __bool__(self) -> bool:
        return bool(self._records)

    @property
    def last(self) -> int:
        """The number of the version that new steps run with."""
        return int(self._records[-1]["number"])

    def version(self, number: int) -> Version:
        """A version that is kept."""
        for record in self._records:
            if record["number"] == number:
                network = load_network(self._folder / NETWORKS / record["network"])
                return Version(number, network, record["born"], record["sinks"])
        raise RunError(
            f"the checkpoint is damaged: a step ran with version {number} of the network, which "
            f"{self._folder / VERSIONS} does not name. Restore the checkpoint from a copy."
        )

    def sinks(self, version: int) -> dict[tuple[str, int], Sink]:
        """The sinks that came with a version, as far as they could be kept; not bound."""
        name = self._sinks.get(str(version))
        if name is None:
            return {}
        path = self._folder / NETWORKS / name
        packed: Mapping[str, bytes] = load_pickle(path)
        return {(output, version): load_pickle(path, content) for output, content in packed.items()}

    def add(self, version: Version, sinks: Mapping[str, Sink]) -> None:
        """Keep another version, with the sinks that came with it. From here on it exists."""
        folder = self._folder / NETWORKS
        make_folder(folder, OWN)
        content, suffix = pack_network(version.network)
        network = put_by_content(folder, f"{version.number:04d}", content, suffix)
        kept = {
            name: packed for name, sink in sinks.items() if (packed := _packed_sink(name, sink, version)) is not None
        }
        given = dict(self._sinks)
        if kept:
            from pyspark import cloudpickle

            content = cloudpickle.dumps(kept)  # type: ignore[no-untyped-call]
            given[str(version.number)] = put_by_content(folder, f"{version.number:04d}", content, ".sinks.pickle")
        record = {
            "number": version.number,
            "network": network,
            "born": dict(version.born),
            "sinks": dict(version.sinks),
        }
        self._write([*self._records, record], given)

    def keep_only(self, numbers: Iterable[int]) -> None:
        """Let go of the versions that no step can need, and of every file that no version names."""
        wanted = set(numbers)
        records = [record for record in self._records if record["number"] in wanted]
        used = {str(number) for record in records for number in record["sinks"].values()}
        given = {number: name for number, name in self._sinks.items() if number in used}
        if records != self._records or given != self._sinks:
            self._write(records, given)
        named = {*(record["network"] for record in records), *given.values()}
        for path in (self._folder / NETWORKS).glob("*"):
            if path.name not in named and path.is_file():
                remove(path)

    def _write(self, records: list[dict[str, Any]], sinks: dict[str, str]) -> None:
        content = json.dumps({"versions": records, "sinks": sinks}, indent=2) + "\n"
        put_in_place(self._folder / VERSIONS, content)
        self._records, self._sinks = records, sinks

    def _read(self) -> None:
        path = self._folder / VERSIONS
        try:
            said = json.loads(path.read_text())
            self._records, self._sinks = list(said["versions"]), dict(said["sinks"])
            fine = all({"number", "network", "born", "sinks"} <= record.keys() for record in self._records)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as broken:
            raise _damaged(path, f"{type(broken).__name__}: {broken}") from None
        if not fine or not self._records:
            raise _damaged(path, "it names no version")


def pack_network(network: NetworkValue) -> tuple[bytes, str]:
    """A network for another process, and the suffix that says how: JSON if that says everything, else a pickle."""
    try:
        text = to_json(network)
        if from_json(text) == network:
            return text.encode(), ".json"
    except NetworkError:
        pass  # it has classes or functions of the user's own
    return pickled(network, network, {}, {}), ".pickle"


def _packed_sink(name: str, sink: Sink, version: Version) -> bytes | None:
    if sink.to_frame:
        return None  # it is a function of the driver's, which is gone with its process
    try:
        return pickled(sink, version.network, {}, {name: sink})
    except RunError:
        return None


def put_by_content(folder: Path, what: str, content: bytes, suffix: str) -> str:
    """Write a file whose name begins with `what` and has the digest of its content; its name."""
    name = f"{what}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    put_in_place(folder / name, content, mode=PRIVATE)
    return name


def load_network(path: Path) -> NetworkValue:
    """The network of a file of that kind, whose name has the digest of its content."""
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise _damaged(path, fault.strerror or str(fault)) from None
    _, _, expected = path.stem.partition("-")
    if hashlib.sha256(content).hexdigest()[:16] != expected:
        raise _damaged(path, "it has other content than was saved")
    if path.suffix == ".json":
        try:
            return from_json(content.decode())
        except (ArterialError, UnicodeDecodeError) as broken:
            raise _damaged(path, str(broken)) from None
    found = load_pickle(path)
    if not isinstance(found, NetworkValue):
        raise _damaged(path, f"a {type(found).__name__} is in it")
    return found


def _damaged(path: Path, why: str) -> RunError:
    return RunError(
        f"the checkpoint is damaged: {path} cannot be read ({why}). Restore it from a copy, or begin from the start "
        "(--force, or a new folder as checkpoint)."
    )
