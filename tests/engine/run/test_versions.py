"""Versions in a checkpoint: what a kill halfway leaves, sinks of each version, and pickles of others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import arterial as art
from arterial.connectors.sinks.files.parts import FileSink
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.checkpoint.trusted import check_private, load_pickle
from arterial.engine.run.versions.version_files import NETWORKS, VERSIONS, VersionFiles
from arterial.engine.run.versions.versions import BoundSinks, Version, first_version, next_version
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from tests.engine.tiny import Enter, Keep, Leave, chain


def drawn(limit: int = 3, **outputs: str) -> NetworkValue:
    net = art.Network("n")
    some = net.source("s", {"time": int, "x": int}).filter("some", f"x > {limit}")
    for name in outputs or {"out": ""}:
        some.output(name)
    return net.value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "c" / "arterial"
    path.mkdir(parents=True, mode=0o755)
    return path


def kept(folder: Path) -> list[str]:
    return sorted(path.name[:4] for path in (folder / NETWORKS).iterdir())


def test_versions_are_kept(folder: Path) -> None:
    files = VersionFiles(folder)
    assert not files
    first = first_version(drawn(), ["out"])
    files.add(first, {"out": FileSink(folder / "o")})
    second = next_version(first, drawn(9), [])
    files.add(second, {})
    again = VersionFiles(folder)
    assert (again.last, again.version(1), again.version(2)) == (2, first, second)
    assert list(again.sinks(1)) == [("out", 1)]
    again.keep_only([2])
    assert VersionFiles(folder).version(2) == second
    assert kept(folder) == ["0001", "0002"]  # the sinks of version 1 are those of version 2 as well
    with pytest.raises(RunError, match=r"version 1 of the network, which .*versions\.json does not name"):
        VersionFiles(folder).version(1)


def test_networks_are_json_unless_they_hold_code(folder: Path) -> None:
    files = VersionFiles(folder)
    files.add(first_version(drawn(), []), {})
    files.add(Version(2, chain(Enter("in"), Keep("keep"), Leave("out"))), {})
    assert [path.suffix for path in sorted((folder / NETWORKS).iterdir())] == [".json", ".pickle"]
    assert VersionFiles(folder).version(2).network.box("keep") == Keep("keep")


def test_a_replacement_that_was_killed_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after each file that it writes: then nothing happened, and another version 2 is itself."""
    from arterial.engine.run.versions import version_files

    files = VersionFiles(folder)
    first = first_version(drawn(), ["out"])
    files.add(first, {"out": FileSink(folder / "o")})
    really, writes = version_files.put_in_place, 0

    def put(path: Path, content: Any, **options: Any) -> None:
        nonlocal writes
        if not writes:
            raise KeyboardInterrupt
        writes -= 1
        really(path, content, **options)

    monkeypatch.setattr(version_files, "put_in_place", put)
    for survived in range(3):
        writes = survived
        killed = next_version(first, drawn(100 + survived), ["out"])
        with pytest.raises(KeyboardInterrupt):
            VersionFiles(folder).add(killed, {"out": MemorySink()})
        assert VersionFiles(folder).last == 1
    writes = 99
    files = VersionFiles(folder)
    files.keep_only([1])
    assert kept(folder) == ["0001", "0001"]
    files.add(next_version(first, drawn(7), []), {})
    assert VersionFiles(folder).version(2).network == drawn(7)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"versions": [], "sinks": {}}', b'{"versions": [{}], "sinks": {}}'])
def test_a_damaged_list_is_named(folder: Path, content: bytes) -> None:
    (folder / VERSIONS).write_bytes(content)
    with pytest.raises(RunError, match=r"damaged: .*versions\.json cannot be read .*Restore it"):
        VersionFiles(folder)


def test_a_damaged_network_is_named(folder: Path) -> None:
    VersionFiles(folder).add(first_version(drawn(), []), {})
    (path,) = (folder / NETWORKS).iterdir()
    path.write_bytes(path.read_bytes().replace(b"x > 3", b"x > 4"))
    with pytest.raises(RunError, match="has other content than was saved"):
        VersionFiles(folder).version(1)
    path.unlink()
    with pytest.raises(RunError, match=r"damaged: .*0001-.*No such file"):
        VersionFiles(folder).version(1)


def test_sinks_belong_to_their_version(folder: Path) -> None:
    first = first_version(drawn(3, out="", few=""), ["out", "few"])
    without = next_version(first, drawn(3, out=""), [])
    again = next_version(without, drawn(3, out="", few=""), ["few"])
    assert (without.sinks, again.sinks) == ({"out": 1}, {"out": 1, "few": 3})
    given = {(name, 1): MemorySink() for name in ("out", "few")} | {("few", 3): MemorySink()}
    bound = BoundSinks(folder)
    old, _, new = (bound.of(version, given) for version in (first, without, again))
    assert old["out"] is new["out"]
    assert old["few"] is not new["few"]
    assert len(list(bound)) == 3


def test_sinks_that_are_missing_are_refused(folder: Path) -> None:
    first = first_version(drawn(), ["out"])
    with pytest.raises(RunError, match="output 'few' is new and has no sink"):
        next_version(first, drawn(3, out="", few=""), [])
    with pytest.raises(RunError, match="has no output 'fwe'; it has: out, few; did you mean 'few'"):
        next_version(first, drawn(3, out="", few=""), ["fwe"])
    net = art.Network("n")
    net.source("s", {"time": int, "x": int}).map("more", y="x + 1").output("out")
    with pytest.raises(RunError, match="stream to 'out' are changed; give it a new sink"):
        next_version(first, net.value, [])
    second = next_version(first, drawn(3, out="", few=""), ["few"])
    with pytest.raises(RunError, match="sink of 'few', which came with version 2, cannot be kept"):
        BoundSinks(folder).of(second, {("out", 1): MemorySink()})


def test_pickles_of_others_are_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = VersionFiles(folder)
    files.add(Version(1, chain(Enter("in"), Leave("out"))), {})
    (path,) = (folder / NETWORKS).iterdir()
    assert oct(path.stat().st_mode)[-3:] == "600"
    check_private(folder)
    for place in (folder, folder / NETWORKS, path):
        mode = place.stat().st_mode
        place.chmod(mode | 0o020)
        with pytest.raises(RunError, match=r"other users can write to it .*chmod -R go-w"):
            VersionFiles(folder).version(1)
        place.chmod(mode)
    VersionFiles(folder).version(1)
    folder.chmod(0o777)
    with pytest.raises(RunError, match="other users can write"):
        check_private(folder)
    folder.chmod(0o755)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(RunError, match=f"belongs to user {mine}, and you are user {mine + 1}"):
        load_pickle(path)


def test_a_version_is_plain_data(folder: Path) -> None:
    VersionFiles(folder).add(first_version(drawn(), ["out"]), {"out": MemorySink()})
    said = json.loads((folder / VERSIONS).read_text())
    assert [sorted(record) for record in said["versions"]] == [["born", "network", "number", "sinks"]]
