"""The tactics in the order in which they are applied."""

from __future__ import annotations

from arterial.errors import NetworkError
from arterial.network.network import NetworkValue
from arterial.optimize.tactic import Figures, Tactic
from arterial.optimize.tactics.drop_dead_paths import drop_dead_paths
from arterial.optimize.tactics.insert_projections import insert_projections
from arterial.optimize.tactics.lower import lower
from arterial.optimize.tactics.merge_filters import merge_filters
from arterial.optimize.tactics.merge_maps import merge_maps
from arterial.optimize.tactics.push_down import push_down
from arterial.optimize.tactics.reorder import reorder
from arterial.optimize.tactics.share_prefixes import share_prefixes

RULES: tuple[Tactic, ...] = (
    drop_dead_paths,
    share_prefixes,
    push_down,
    lower,
    reorder,
    merge_filters,
    merge_maps,
    insert_projections,
)
"""The tactics, in the order in which they are applied."""

WHILE_RUNNING: tuple[Tactic, ...] = tuple(rule for rule in RULES if rule is not push_down)
"""Those that leave the state of every box as it should be in its new place."""


def optimize(network: NetworkValue, figures: Figures, rules: tuple[Tactic, ...] = RULES) -> NetworkValue:
    """The network after every tactic. Raises if one of them breaks an arc that is inseparable."""
    return apply(network, figures, rules)[0]


def apply(network: NetworkValue, figures: Figures, rules: tuple[Tactic, ...]) -> tuple[NetworkValue, tuple[str, ...]]:
    """The network after every tactic, and the names of those that changed it."""
    changed = []
    for rule in rules:
        better = rule(network, figures)
        if better is not network and better != network:
            changed.append(rule.__name__)
        names = {box.name for box in better.boxes}
        for arc in sorted(network.inseparable - set(better.arcs)):
            if arc.end.box in names:
                raise NetworkError(
                    f"network {network.name!r}: the tactic {rule.__name__!r} must leave the arc {arc} as it is, since "
                    f"box {arc.end.box!r} says that it is inseparable; leave the tactic out or correct it"
                )
        network = better
    return network, tuple(changed)
