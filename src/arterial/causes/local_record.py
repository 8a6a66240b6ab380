"""What `arterial run --local` leaves for `arterial why`: the network, and which files its sources read.

A local run keeps no checkpoint; this file of a few lines is all that is needed to read its input again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arterial.connectors.files.find import find_files
from arterial.connectors.files.fingerprint import Fingerprint, fingerprint, what_changed
from arterial.connectors.files.source import FileSource
from arterial.connectors.source import Source
from arterial.errors import DataError, NetworkError, RunError
from arterial.network.network import NetworkValue
from arterial.network.serial import from_json, to_json
from arterial.storage.place import make_folder, put_in_place
from arterial.storage.remote import path_of

RECORD = "replay.json"
_OPTIONS = ("time_unit", "timezone", "until")


def write_record(out: Path, place: str, network: NetworkValue, sources: Mapping[str, Source]) -> None:
    """Say what a local run reads. A source that is no file is left out: its place may be secret."""
    said: dict[str, Any] = {"network": None, "place": str(Path(place).absolute()) if ".py" in place else place}
    try:
        text = to_json(network)
        if from_json(text) == network:
            said["network"] = json.loads(text)
    except NetworkError:
        pass  # it has classes or functions of the user's own; they are found by its place
    said["sources"] = {}
    for name, source in sources.items():
        if isinstance(source, FileSource):
            files = [
                file.path for file in find_files(path_of(source.path), f"source {name!r}", may_be_none=source.follow)
            ]
            options = {option: getattr(source, option) for option in _OPTIONS}
            prints = {str(path.absolute()): asdict(fingerprint(path)) for path in files}
            said["sources"][name] = {"path": str(path_of(source.path).absolute()), **options, "files": prints}
    make_folder(out)
    put_in_place(out / RECORD, json.dumps(said, indent=2) + "\n")


def read_record(
    out: Path, load: Callable[[str], NetworkValue] | None = None
) -> tuple[NetworkValue, dict[str, Source], list[str]] | None:
    """The network and the sources of a local run, and which files are not as they were; None if there is no record.

    `load` finds a network by its place ("FILE.py:NAME"), if it has code of the user's own and so is not in the record.
    """
    path = out / RECORD
    if not path.exists():
        return None
    try:
        said = json.loads(path.read_text())
        if said["network"]:
            network = from_json(json.dumps(said["network"]))
        elif load is not None:
            network = load(said["place"])
        else:
            raise RunError(f"{path}: the network has code of its own; ask with arterial why --network {said['place']}")
        sources: dict[str, Source] = {}
        changed: list[str] = []
        for name, one in said["sources"].items():
            sources[name] = FileSource(one["path"], **{option: one[option] for option in _OPTIONS})
            for file, was in one["files"].items():
                if how := what_changed(path_of(file), Fingerprint(**was), grows=True):
                    changed.append(f"source {name!r}: {file} {how}")
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise RunError(f"{path}: is damaged ({type(broken).__name__}: {broken}); run it again") from None
    except DataError as gone:
        raise RunError(f"{path}: {gone}") from None
    return network, sources, changed
