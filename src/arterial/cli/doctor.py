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
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from arterial.engine.spark.java import OLDEST_JAVA, find_java
from arterial.engine.spark.session import DEFAULT_MASTER, spark_session
from arterial.errors import ArterialError

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
    json_output: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
) -> None:
    """Check Java, Spark, Python workers, memory, disk and write access; exit 1 if anything is wrong."""
    findings = [_run(name, check) for name, check in CHECKS.items()]
    if json_output:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _run(name: str, check: Callable[[], tuple[bool, str, str]]) -> Finding:
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


def _spark() -> tuple[bool, str, str]:
    spark = spark_session("doctor")
    counted = spark.range(1000).count()
    return counted == 1000, f"Spark {spark.version} on {spark.sparkContext.master}", "Reinstall pyspark."


def _workers() -> tuple[bool, str, str]:
    from pyspark.sql.functions import udf

    spark = spark_session("doctor")
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


CHECKS: dict[str, Callable[[], tuple[bool, str, str]]] = {
    "Python": _python,
    "Java": _java,
    "Memory": _memory,
    "Disk": _disk,
    "Write access": _write_access,
    "Spark": _spark,
    "Python workers": _workers,
}


def _print(findings: list[Finding]) -> None:
    table = Table("", "check", "found", "what to do", title=f"arterial doctor ({DEFAULT_MASTER})")
    for finding in findings:
        mark = "[green]ok[/]" if finding.ok else "[red]fault[/]"
        table.add_row(mark, finding.check, finding.found, finding.remedy)
    console = Console()
    console.print(table)
    faults = sum(not finding.ok for finding in findings)
    console.print("All is well." if not faults else f"{faults} fault(s): see the last column.")
