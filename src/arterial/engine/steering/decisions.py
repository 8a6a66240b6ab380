"""What the driver decided after a step, for the planner of the next one: a small file beside that of the commands.

Controllers are pure functions: figures of the last steps, the network, and the record so far make the next record. The
driver calls them when all tasks of a step are done, before Spark commits it. The planner, a process of its own, copies
what they decided into the offset; from then on it is logged, and what the controllers knew is needed no more.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from arterial.errors import RunError
from arterial.figures.steering import Drop, Steering
from arterial.storage.place import put_in_place, remove

if TYPE_CHECKING:
    from arterial.engine.steering.arcs import ArcTraits
    from arterial.figures.window import Window
    from arterial.network.network import NetworkValue

DECISION_FILE = "decision.json"

Controller = Callable[["Window", "NetworkValue", Steering], Steering]
"""The record for the next step: of `admit`, `hold` and `shed` what it wants, other parts as they are."""

_log = logging.getLogger("arterial")


@dataclass(frozen=True)
class Decision:
    """What holds after a step."""

    step: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    """How many tuples wait in queues, by arc."""
    steering: Steering = field(default_factory=Steering)
    """What the controllers decided."""


def decide(
    controllers: Sequence[Controller],
    window: Window,
    network: NetworkValue,
    arcs: Mapping[str, ArcTraits],
    before: Steering,
) -> Steering:
    """What the controllers decide, one after the other; one that fails, or wants what may not be, changes nothing."""
    decided = before
    for controller in controllers:
        try:
            wanted = controller(window, network, decided)
            _check(wanted, arcs)
        except Exception as trouble:  # whatever it is: a run does not stop because of who steers it
            name = getattr(controller, "__name__", type(controller).__name__)
            _log.warning("controller %s: its decision is not followed: %s: %s", name, type(trouble).__name__, trouble)
        else:
            decided = replace(wanted, version=before.version, tap={})
    return decided


def write_decision(folder: Path, decision: Decision) -> None:
    """Put it where the planner looks."""
    said = {"step": decision.step, "held": dict(decision.held), "steering": decision.steering.as_json()}
    put_in_place(folder / DECISION_FILE, json.dumps(said))


def read_decision(folder: Path) -> Decision:
    """The last decision; nothing is decided before the first step."""
    try:
        said = json.loads((folder / DECISION_FILE).read_text())
        return Decision(said["step"], said["held"], Steering.from_json(said["steering"]))
    except FileNotFoundError:
        return Decision()
    except (ValueError, TypeError, KeyError) as broken:
        raise RunError(
            f"the checkpoint is damaged: {folder / DECISION_FILE} cannot be read ({broken}). Restore it from a copy; "
            "without it the run would not know whether tuples wait in queues."
        ) from None


def forget_decision(folder: Path) -> None:
    """For a run that begins from the start."""
    remove(folder / DECISION_FILE)


def _check(wanted: Steering, arcs: Mapping[str, ArcTraits]) -> None:
    from arterial.engine.steering.arcs import check_drop, check_hold, find_arc

    for arc, drop in wanted.shed.items():
        check_drop(find_arc(arc, arcs), drop if isinstance(drop, Drop) else Drop(**drop))
    for arc, take in wanted.hold.items():
        check_hold(find_arc(arc, arcs), take)
