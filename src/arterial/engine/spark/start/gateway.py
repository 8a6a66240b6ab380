"""Starts Java for Spark, without waiting for it, and connects pyspark to it.

pyspark itself waits while Java starts. Here the process is started first and asked for later, so that the caller can
import what it needs in the meantime.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arterial.engine.spark.start.forks import ignore_interrupts
from arterial.errors import MachineError
from arterial.storage.place import PRIVATE, put_in_place


class Gateway:
    """A Java process that runs Spark's gateway, or soon will."""

    def __init__(self, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="arterial-gateway-"))
        self._said = self._folder / "said"
        secrets = {key: value for key, value in settings.items() if is_secret(key)}
        confs = [part for key, value in settings.items() if key not in secrets for part in ("--conf", f"{key}={value}")]
        if secrets:
            # Anyone on the machine can read a command line; this folder is the user's own.
            file = self._folder / "secrets.properties"
            put_in_place(file, "".join(f"{key}={_escaped(value)}\n" for key, value in secrets.items()), mode=PRIVATE)
            confs += ["--properties-file", str(file), "--load-spark-defaults"]
        submit = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        # Its Python workers write several lines there for every task.
        log = os.open(os.environ.get("ARTERIAL_SPARK_LOG") or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.process = subprocess.Popen(
                [str(spark_home() / "bin" / "spark-submit"), *confs, *submit],
                stdin=subprocess.PIPE,  # Java ends when it is closed
                stderr=log,
                env={**environment, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._said)},
                preexec_fn=ignore_interrupts,
            )
        finally:
            os.close(log)
        atexit.register(self._abandon)

    def connect(self) -> Any:
        """Wait for Java, and give pyspark's end of the connection."""
        while not self._said.exists():
            if self.process.poll() is not None:
                raise MachineError(
                    f"Java ({os.environ['JAVA_HOME']}) did not start. `arterial doctor` checks this machine; set "
                    "ARTERIAL_SPARK_LOG to the name of a file and try again to see what Java said."
                )
            time.sleep(0.02)
        said = self._said.read_bytes()
        os.environ["PYSPARK_GATEWAY_PORT"] = str(int.from_bytes(said[:4], "big"))
        os.environ["PYSPARK_GATEWAY_SECRET"] = said[8:].decode()
        try:
            from pyspark.java_gateway import launch_gateway

            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
        gateway.proc = self.process
        atexit.unregister(self._abandon)
        shutil.rmtree(self._folder, ignore_errors=True)
        return gateway

    def _abandon(self) -> None:
        """Nobody connected: end Java."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def is_secret(setting: str) -> bool:
    """Whether the value of a setting of Spark must not be shown.

    >>> is_secret("spark.authenticate.secret"), is_secret("spark.authenticate"), is_secret("spark.ssl.keyPassword")
    (True, False, True)
    """
    return re.search(r"(secret|password|token|credential)[^.]*$", setting, re.IGNORECASE) is not None


def _escaped(value: str) -> str:
    """A value as a file of Java properties has it: in such a file a backslash and a blank mean something."""
    units = value.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if 32 < code < 127 and code != ord("\\") else f"\\u{code:04x}" for code in codes)


def spark_home() -> Path:
    """The folder of Spark: the user's own, or the one that comes with pyspark."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
