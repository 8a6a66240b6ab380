"""Tactics: pure functions from network to network that leave what every output stands for as it is (Aurora §3).

One tactic is one file with one function of the same name; `RULES` says which are applied, in which order. Tactics ask
boxes for their traits (`arterial.network.box`). Begin reading with `drop_dead_paths`.
"""

from __future__ import annotations

from arterial.errors import NetworkError
from arterial.network.network import NetworkValue
from arterial.optimize.drop_dead_paths import drop_dead_paths
from arterial.optimize.push_down import push_down
from arterial.optimize.tactic import Selectivities, Tactic

__all__ = ["RULES", "Selectivities", "Tactic", "optimize"]

RULES: tuple[Tactic, ...] = (drop_dead_paths, push_down)
"""The tactics, in the order in which they are applied."""


def optimize(network: NetworkValue, selectivities: Selectivities, rules: tuple[Tactic, ...] = RULES) -> NetworkValue:
    """The network after every tactic. Raises if one of them breaks an arc that is inseparable."""
    for rule in rules:
        better = rule(network, selectivities)
        names = {box.name for box in better.boxes}
        for arc in sorted(network.inseparable - set(better.arcs)):
            if arc.end.box in names:
                raise NetworkError(
                    f"network {network.name!r}: the tactic {rule.__name__!r} must leave the arc {arc} as it is, since "
                    f"box {arc.end.box!r} says that it is inseparable; leave the tactic out or correct it"
                )
        network = better
    return network
