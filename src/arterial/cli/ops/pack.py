"""`arterial pack`: the Python of this environment as one archive, for the workers of a cluster."""

from __future__ import annotations

from pathlib import Path

import typer


def pack(
    file: Path = typer.Argument(Path("environment.tar.gz"), help="The archive: .tar.gz, .tgz or .tar."),
    package: list[str] = typer.Option(
        [], "--package", "-p", help="A package that your own boxes need, with what it requires. Repeatable."
    ),
) -> None:
    """Pack this Python, arterial and all that it needs, for a cluster: arterial run --environment FILE.

    Workers then need Spark and Java, but no Python. They must run the same kind of system as this machine.

    Example: arterial pack env.tar.gz --package scikit-learn
    """
    from arterial.engine.spark.pack import pack as write

    packed = write(file, package)
    typer.echo(f"{packed.path}: {len(packed.packages)} packages, {packed.size / 2**20:,.0f} MB")
