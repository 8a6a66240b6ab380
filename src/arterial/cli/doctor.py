"""`arterial doctor`: is this machine fit to run Arterial, and what to do where it is not."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.cli.parts.cluster import DRIVER_HOST, ENVIRONMENT, MASTER, SPARK_CONF, cluster_of
from arterial.errors import ArterialError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arterial.engine.spark.cluster import Cluster

Check = Callable[[], tuple[bool, str, str]]
"""Whether all is well, what was found, and what to do if not."""

LEAST_MEMORY_GIB = 4
LEAST_DISK_GIB = 5


@dataclass(frozen=True)
class Finding:
    """The outcome of one check; `remedy` says what to do if it is not ok."""

    check: str
    ok: bool
    found: str
    remedy: str = ""


def doctor(
    master: str | None = MASTER,
    driver_host: str | None = DRIVER_HOST,
    environment: Path | None = ENVIRONMENT,
    spark_conf: list[str] = SPARK_CONF,
    shared: Path | None = typer.Option(
        None, "--shared", help="On a cluster: a folder that all its machines should see under the same path."
    ),
    json_output: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
) -> None:
    """Check Java, Spark, Python workers, memory, disk and write access; exit 1 if anything is wrong.

    With --master it looks at a cluster: whether the master answers, workers take an application, have this arterial and
    see the folder --shared.
    """
    cluster = cluster_of(master, driver_host, environment, spark_conf)
    checks: dict[str, Check] = {
        **CHECKS,
        "Spark": partial(_spark, cluster),
        "Python workers": partial(_workers, cluster),
    }
    from arterial.storage.remote import path_of

    if not cluster.on_one_machine and shared is not None:
        checks["Shared folder"] = partial(_shared, cluster, path_of(shared))
    findings = [_run(name, check) for name, check in checks.items()]
    if json_output:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings, cluster)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _run(name: str, check: Check) -> Finding:
    try:
        ok, found, remedy = check()
    except ArterialError as fault:
        return Finding(name, False, "missing", str(fault))
    except Exception as fault:  # a doctor reports whatever it meets
        first_line = (str(fault).splitlines() or [""])[0]
        return Finding(name, False, f"{type(fault).__name__}: {first_line}", "See the message; run again with --json.")
    return Finding(name, ok, found, "" if ok else remedy)


def _python() -> tuple[bool, str, str]:
    return sys.version_info >= (3, 11), platform.python_version(), "Install Python 3.11 or newer."


def _java() -> tuple[bool, str, str]:
    from arterial.engine.spark.start.java import OLDEST_JAVA, find_java

    java = find_java()
    return (
        True,
        f"Java {java.version} from {java.origin} ({java.home})",
        f"Install Java {OLDEST_JAVA} or newer.",
    )


def _memory() -> tuple[bool, str, str]:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return gib >= LEAST_MEMORY_GIB, f"{gib:.0f} GiB", f"Use a machine with {LEAST_MEMORY_GIB} GiB or more."


def _disk() -> tuple[bool, str, str]:
    place = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir())
    gib = shutil.disk_usage(place).free / 2**30
    return (
        gib >= LEAST_DISK_GIB,
        f"{gib:.0f} GiB free in {place}",
        f"Free {LEAST_DISK_GIB} GiB, or set SPARK_LOCAL_DIRS to a folder on a larger disk.",
    )


def _write_access() -> tuple[bool, str, str]:
    refused = []
    for place in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError:
            refused.append(str(place))
    return (
        not refused,
        "ok" if not refused else f"cannot write in {', '.join(refused)}",
        "Change to a folder of your own.",
    )


def _spark(cluster: Cluster) -> tuple[bool, str, str]:
    spark = _session(cluster)
    counted = spark.range(1000).count()
    return counted == 1000, f"Spark {spark.version} on {spark.sparkContext.master}", "Reinstall pyspark."


def _workers(cluster: Cluster) -> tuple[bool, str, str]:
    from pyspark.sql.functions import udf

    spark = _session(cluster)
    versions = {
        row.v
        for row in spark.range(4).select(udf(lambda _: platform.python_version(), "string")("id").alias("v")).collect()
    }
    expected = platform.python_version()
    return (
        versions == {expected},
        f"Python workers run {', '.join(sorted(versions))}",
        f"Set PYSPARK_PYTHON to a Python {expected} that has arterial installed.",
    )


def _shared(cluster: Cluster, folder: Path) -> tuple[bool, str, str]:
    from arterial.engine.spark.cluster import check_workers

    check_workers(_session(cluster), folder.absolute())
    return True, f"all workers see {folder}", ""


def _session(cluster: Cluster) -> SparkSession:
    from arterial.engine.spark.session import spark_session

    return spark_session("doctor", master=cluster)


CHECKS: dict[str, Check] = {
    "Python": _python,
    "Java": _java,
    "Memory": _memory,
    "Disk": _disk,
    "Write access": _write_access,
}


def _print(findings: list[Finding], cluster: Cluster) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "check", "found", "what to do", title=f"arterial doctor ({cluster.url})")
    for finding in findings:
        mark = "[green]ok[/]" if finding.ok else "[red]fault[/]"
        table.add_row(mark, finding.check, finding.found, finding.remedy)
    console = Console()
    console.print(table)
    faults = sum(not finding.ok for finding in findings)
    console.print("All is well." if not faults else f"{faults} fault(s): see the last column.")
