"""When the archive of Java's classes is used, noted for and made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arterial.engine.spark.start import archive
from arterial.engine.spark.start.gateway import spark_home
from arterial.engine.spark.start.java import Java, find_java


@pytest.fixture
def classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> archive.Archive:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ARTERIAL_ARCHIVE", raising=False)
    monkeypatch.setattr(archive.atexit, "register", lambda *_: None)
    return archive.Archive(find_java(), spark_home())


def put(classes: archive.Archive) -> None:
    classes.path.parent.mkdir(parents=True, mode=0o700)
    classes.path.write_bytes(b"classes")
    classes.path.chmod(0o600)
    classes.path.with_suffix(".size").write_text("7")


def test_it_is_used_once_it_is_there(classes: archive.Archive) -> None:
    assert classes.options() == [f"-XX:DumpLoadedClassList={classes.noted}"]
    classes.path.parent.rmdir()
    put(classes)
    assert classes.options()[0] == f"-XX:SharedArchiveFile={classes.path}"


@pytest.mark.parametrize("which", ["file", "folder"])
def test_what_others_may_write_is_not_used(classes: archive.Archive, which: str) -> None:
    put(classes)
    (classes.path if which == "file" else classes.path.parent).chmod(0o777)
    assert not classes.usable


def test_what_was_cut_off_is_not_used(classes: archive.Archive) -> None:
    put(classes)
    assert classes.usable
    classes.path.write_bytes(b"class")
    assert not classes.usable


def test_it_can_be_switched_off(classes: archive.Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTERIAL_ARCHIVE", "use")
    assert archive.Archive(find_java(), spark_home()).options() == []
    put(classes)
    assert archive.Archive(find_java(), spark_home()).options() != []
    monkeypatch.setenv("ARTERIAL_ARCHIVE", "off")
    assert archive.Archive(find_java(), spark_home()).options() == []


def test_another_java_has_another(classes: archive.Archive) -> None:
    assert archive.Archive(Java(Path("/elsewhere"), 21, "PATH"), spark_home()).path != classes.path


def test_a_cache_that_cannot_be_written_is_done_without(
    classes: archive.Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert archive.Archive(find_java(), spark_home()).options() == []


@pytest.mark.thorough
def test_it_is_made_of_what_was_noted(classes: archive.Archive, tmp_path: Path) -> None:
    """Of a small program here; what stands for Spark is a name that its list of classes has."""
    java = str(find_java().home / "bin" / "java")
    classes.options()
    jar = next((spark_home() / "jars").glob("slf4j-api-*.jar"))
    subprocess.run(
        [java, f"-XX:DumpLoadedClassList={classes.noted}", "-cp", str(jar), "-version"], check=True, capture_output=True
    )
    before = classes.noted.read_bytes()
    archive.make(0, classes.noted, classes.path, [java, "-cp", str(jar)])
    assert not classes.path.exists(), "a list without a run of Spark is not worth an archive"
    classes.noted.write_bytes(before + b"org/apache/TransformWithState\n")
    archive.make(0, classes.noted, classes.path, [java, "-cp", str(jar)])
    assert classes.usable
    assert {file.suffix for file in classes.path.parent.iterdir()} == {".jsa", ".lock", ".size"}
    said = [f"-XX:SharedArchiveFile={classes.path}", "-Xshare:on", "-cp", str(jar), "-version"]
    subprocess.run([java, *said], check=True, capture_output=True)


def test_java_ignores_what_is_no_archive(classes: archive.Archive) -> None:
    put(classes)
    java = str(find_java().home / "bin" / "java")
    done = subprocess.run([java, *classes.options(), "-version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "error" not in done.stderr.lower()


@pytest.mark.spark
@pytest.mark.slow
def test_another_archive_does_no_harm(classes: archive.Archive, tmp_path: Path) -> None:
    """Spark starts with it, and standard output has only what the program said."""
    put(classes)
    program = (
        "from arterial.engine.spark.session import spark_session\n"
        "print(spark_session('other', master='local[1]').range(7).count())\n"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "ARTERIAL_ARCHIVE": "use"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=240, check=False
    )
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
