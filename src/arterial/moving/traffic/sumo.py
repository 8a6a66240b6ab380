"""Objects from SUMO, the traffic simulator of the German Aerospace Center: real car-following on a generated city.

It needs the package eclipse-sumo (`pip install "arterial[sumo]"`), whose programs are run.
"""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from arterial.errors import DataError, MachineError

BLOCK_METRES = 200


@dataclass(frozen=True)
class SumoSettings:
    """A grid of so many blocks each way; vehicles depart evenly over the time."""

    vehicles: int = 1000
    seconds: int = 300
    seed: int = 1
    blocks: int = 10


@dataclass(frozen=True)
class Seen:
    """A vehicle at a second."""

    t: float
    id: str
    x: float
    y: float
    kind: str


def write_events(
    out: Path,
    settings: SumoSettings,
    *,
    network: Path | None = None,
    progress: Callable[[float], None] = lambda t: None,
) -> int:
    """Simulate and write a file of events; returns their number. `network` is a road network of SUMO's to use."""
    written, latest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        try:
            with out.open("w", encoding="utf-8") as file:
                for seen in simulate(settings, Path(folder), network=network):
                    file.write(f"{seen.t:g},object,{seen.id},{seen.x:.2f},{seen.y:.2f}\n")
                    written += 1
                    if seen.t > latest:
                        latest = seen.t
                        progress(latest)
        except OSError as fault:
            raise MachineError(f"{fault.filename or out}: cannot be written: {fault.strerror or fault}.") from fault
    return written


def simulate(settings: SumoSettings, folder: Path, *, network: Path | None = None) -> Iterator[Seen]:
    """Where every vehicle is at every second, in the order of time."""
    if network is None:
        network = folder / "city.net.xml"
        size = ["--grid.number", str(settings.blocks), "--grid.length", str(BLOCK_METRES)]
        look = ["--default.lanenumber", "2", "--tls.guess", "true", "--seed", str(settings.seed)]
        _call("netgenerate", ["--grid", *size, *look, "--output-file", str(network)])
    elif not network.is_file():
        raise DataError(f"{network}: there is no such file. Name a road network of SUMO (.net.xml).")
    trips, positions = folder / "trips.xml", folder / "positions.xml"
    _write_trips(trips, _roads(network), settings)
    options = ["--end", str(settings.seconds), "--seed", str(settings.seed), "--no-step-log", "--ignore-route-errors"]
    files = ["--net-file", str(network), "--route-files", str(trips), "--fcd-output", str(positions)]
    _call("sumo", [*files, *options, "--no-warnings"])
    yield from _read(positions)


def _program(name: str) -> Path:
    found = importlib.util.find_spec("sumo")
    if found is None or found.origin is None:
        raise MachineError('SUMO is not installed. Install it with: pip install "arterial[sumo]"')
    return Path(found.origin).parent / "bin" / name


def _call(name: str, arguments: list[str]) -> None:
    program = _program(name)
    home = str(program.parent.parent)
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, env={**os.environ, "SUMO_HOME": home}, check=False
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise DataError(f"SUMO's {name} failed: {said[-1] if said else f'exit code {done.returncode}'}")


def _roads(network: Path) -> list[str]:
    """The ids of the roads of a network on which vehicles may begin and end."""
    try:
        roads = [
            element.get("id", "")
            for _, element in ElementTree.iterparse(network)
            if element.tag == "edge" and element.get("function") != "internal"
        ]
    except ElementTree.ParseError as fault:
        raise DataError(f"{network}: is not a road network of SUMO: {fault}.") from fault
    if len(roads) < 2:
        raise DataError(f"{network}: has no roads. Name a road network of SUMO (.net.xml).")
    return roads


def _write_trips(path: Path, roads: list[str], settings: SumoSettings) -> None:
    chance = random.Random(settings.seed)
    lines = ["<routes>"]
    for i in range(settings.vehicles):
        begin, end = (quoteattr(road) for road in chance.sample(roads, 2))
        depart = settings.seconds * i / settings.vehicles
        lines.append(f'<trip id="{i}" depart="{depart:.2f}" from={begin} to={end}/>')
    path.write_text("\n".join([*lines, "</routes>\n"]), encoding="utf-8")


def _read(positions: Path) -> Iterator[Seen]:
    t = 0.0
    for event, element in ElementTree.iterparse(positions, ("start", "end")):
        if event == "start" and element.tag == "timestep":
            t = float(element.get("time", "0"))
        elif event == "end" and element.tag == "vehicle":
            x, y = float(element.get("x", "nan")), float(element.get("y", "nan"))
            yield Seen(t, element.get("id", ""), x, y, element.get("type", ""))
        elif event == "end" and element.tag == "timestep":
            element.clear()
