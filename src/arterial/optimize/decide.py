"""The run-time optimizer: which network should run from now on, and why (Aurora §3).

A pure function of what was measured in each of the last steps, the network that runs, and what it remembers of its own
decisions. A change is decided if over several steps it would have saved a good part of the cost, more than the change
itself costs, and if it would have paid in every single one of them: what oscillates pays in some and loses in others.
Each time that a network is left, going back to it takes twice the patience.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arterial.network.network import NetworkValue
from arterial.optimize.cost import expected
from arterial.optimize.rules import WHILE_RUNNING, apply
from arterial.optimize.tactic import Figures, Measured


@dataclass(frozen=True)
class Patience:
    """What a change must bring before it is made."""

    steps: int = 6
    """In so many steps in a row it must have been better."""
    share: float = 0.1
    """It must save this part of what the network costs; in each single step half of it."""
    seconds: float = 0.2
    """What a change costs: workers load the new version, and the first step is slower."""
    horizon: int = 100
    """It must save more than that within so many steps."""


@dataclass(frozen=True)
class Memory:
    """What the optimizer remembers of its decisions."""

    left: Mapping[str, int] = field(default_factory=dict)
    """The networks that ran before, by a text of their arcs, and how often each was left."""
    refused: frozenset[str] = frozenset()
    """Those that the engine could not go on with."""


@dataclass(frozen=True)
class Decision:
    """Another network, and the reasons for it."""

    network: NetworkValue
    tactics: tuple[str, ...]
    before: float
    """What the network costs that runs: seconds for a million tuples of the sources."""
    after: float
    """What the other one is expected to cost."""
    figures: Mapping[str, Mapping[str, float]]
    """Selectivity and cost of the boxes that it changes, or whose place it changes."""

    @property
    def saving(self) -> float:
        """The part of the cost that it saves."""
        return 1 - self.after / self.before if self.before else 0.0

    def describe(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "tactics": list(self.tactics),
            "before": round(self.before, 6),
            "expected": round(self.after, 6),
            "saving": round(self.saving, 4),
            "figures": {name: dict(values) for name, values in self.figures.items()},
        }


def propose(network: NetworkValue, figures: Figures) -> Decision | None:
    """What the tactics that pay make together of the network that runs; None if that leaves it as it is."""
    better, tactics, cost = network, list[str](), expected(network, figures, network)
    for rule in WHILE_RUNNING:
        changed, names = apply(better, figures, (rule,))
        price = expected(changed, figures, network)
        if names and price <= cost:
            better, cost = changed, price
            tactics += names
    if not tactics:
        return None
    sources = [name for name in network.source_names if name in figures]
    tuples = sum(sum(figures[name].tuples_out.values()) for name in sources)
    scale = 1e6 / tuples if tuples else 0.0
    touched = _changed(network, better)
    reasons = {
        name: {"selectivity": round(m.selectivity or 0.0, 4), "microseconds": round(1e6 * (m.cost or 0.0), 4)}
        for name, m in figures.items()
        if name in touched and m.came and network.box(name).outputs  # what comes to an output is no reason
    }
    before, after = (scale * expected(value, figures, network) for value in (network, better))
    return Decision(better, tuple(tactics), before, after, reasons)


def decide(
    network: NetworkValue, steps: Sequence[Figures], memory: Memory, patience: Patience | None = None
) -> tuple[Memory, Decision | None]:
    """Which network should run from now on, if another one; and what to remember. To be asked after every step.

    `steps` are the figures of the last steps that ran with this network, the latest last.
    """
    patience = patience or Patience()
    if len(steps) < patience.steps:
        return memory, None
    decision = propose(network, total(steps[-patience.steps :]))
    if decision is None or (favourite := outline(decision.network)) in memory.refused:
        return memory, None
    wanted = patience.steps * 2 ** memory.left.get(favourite, 0)
    if len(steps) < wanted or not _pays(decision, network, steps[-wanted:], patience):
        return memory, None
    mine = outline(network)
    return replace(memory, left={**memory.left, mine: memory.left.get(mine, 0) + 1}), decision


def total(steps: Iterable[Figures]) -> dict[str, Measured]:
    """What was measured in several steps together."""
    found: dict[str, Measured] = {}
    for step in steps:
        for name, one in step.items():
            found[name] = found[name].plus(one) if name in found else one
    return found


def outline(network: NetworkValue) -> str:
    """A text by which two networks that are drawn alike are known to be the same."""
    return "; ".join(sorted(str(arc) for arc in network.arcs))


def _pays(decision: Decision, network: NetworkValue, steps: Sequence[Figures], patience: Patience) -> bool:
    costs = [tuple(expected(one, step, network) for one in (network, decision.network)) for step in steps]
    if any(before - after < patience.share / 2 * before for before, after in costs):
        return False
    before, after = (sum(column) for column in zip(*costs, strict=True))
    saved = before - after
    return bool(saved >= patience.share * before and saved / len(steps) * patience.horizon > patience.seconds)


def _changed(old: NetworkValue, new: NetworkValue) -> set[str]:
    """The boxes of the old network that are gone, or fed by others now."""
    fed = {arc.end.box: arc.begin for arc in new.arcs}
    return {arc.end.box for arc in old.arcs if fed.get(arc.end.box) != arc.begin} | (
        {box.name for box in old.boxes} - {box.name for box in new.boxes}
    )
