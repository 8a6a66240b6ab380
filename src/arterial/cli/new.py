"""`arterial new`: a small project to begin with: a network, sample data, a test, and the commands to run them."""

from __future__ import annotations

import keyword
import sys
from pathlib import Path
from string import Template

import typer

from arterial.errors import RunError


def new(
    name: Path = typer.Argument(
        help="The folder to make; its last part is also the name of the network.", metavar="NAME"
    ),
) -> None:
    """Make a small project in the folder NAME: a network, sample data, a test and a README with the commands.

    Example: arterial new speeding
    """
    module = module_name(name)
    if name.exists() and (not name.is_dir() or any(name.iterdir())):
        raise RunError(f"{name} is there already and is not an empty folder; give another name")
    files = {
        f"{module}.py": _NETWORK,
        "reports.csv": sample(),
        f"test_{module}.py": _TEST,
        "README.md": _README,
    }
    try:
        name.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (name / file).write_text(Template(text).substitute(name=module), encoding="utf-8")
    except OSError as trouble:
        raise RunError(f"cannot make the project in {name}: {trouble.strerror}") from None
    typer.echo(f"{name} is made: {', '.join(files)}. Begin with {name / 'README.md'}")


def module_name(folder: Path) -> str:
    """The name of the Python module of a project in that folder."""
    module = folder.absolute().name.replace("-", "_")
    if not module.isidentifier() or keyword.iskeyword(module):
        raise RunError(f"{folder}: {module!r} cannot be the name of a Python module; use letters, digits and _")
    if module in sys.stdlib_module_names or module in ("arterial", "pytest", "polars"):
        raise RunError(f"{folder}: there is a Python module {module!r} already; give another name")
    return module


def sample() -> str:
    """Three minutes of reports of three vehicles, one in ten seconds each."""
    lines = ["time,vehicle,speed"]
    for second in range(0, 180, 10):
        lines += [f"{second},{vehicle},{60 + 15 * vehicle + (second * 7 + vehicle * 13) % 25}" for vehicle in (1, 2, 3)]
    return "\n".join(lines) + "\n"


_NETWORK = '''\
"""Vehicles that drive too fast: the highest speed of each of them, minute by minute."""

import arterial as art

net = art.Network("$name")
reports = net.source("reports", {"time": int, "vehicle": int, "speed": int}, time="time")
fast = reports.filter("fast", "speed > 100")
fast.group_by("vehicle").tumble("per_minute", every="1 minute", peak="max(speed)", reports="count(*)").output("alerts")
'''

_TEST = '''\
"""What the network gives for a few tuples, and for the sample data."""

from pathlib import Path

import arterial as art
import polars as pl
from arterial.testing import check_network

from $name import net

SAMPLE = Path(__file__).with_name("reports.csv")


def test_a_fast_vehicle_is_reported_once_a_minute() -> None:
    reports = [
        {"time": 3, "vehicle": 7, "speed": 130},
        {"time": 9, "vehicle": 8, "speed": 70},
        {"time": 40, "vehicle": 7, "speed": 110},
    ]
    alerts = art.collect(net, reports=reports)["alerts"]
    assert alerts.to_dicts() == [{"vehicle": 7, "time": 59, "peak": 130, "reports": 2}]


def test_the_sample_data() -> None:
    alerts = art.collect(net, reports=SAMPLE)["alerts"]
    assert set(alerts["vehicle"]) == {2, 3}


def test_the_vectorised_boxes_give_what_the_interpreter_gives() -> None:
    check_network(net, {"reports": pl.read_csv(SAMPLE).to_dicts()})
'''

_README = """\
# $name

`$name.py` is the network, `reports.csv` its sample data, `test_$name.py` its test.

```
python -m pytest                                                           # test it
arterial graph $name.py --out $name.svg                                    # draw it
arterial run $name.py --source reports=reports.csv --local --merge -f csv  # run it in this process; see out/alerts.csv
arterial run $name.py --source reports=reports.csv --out on-spark          # run it on Spark, with a checkpoint
```

In Python: `art.collect(net, reports=frame)["alerts"]` for tests and notebooks,
`art.run(net, reports="reports.csv", alerts="alerts.parquet").wait()` on Spark.
"""
