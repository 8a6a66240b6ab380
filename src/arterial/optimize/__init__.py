"""Tactics: pure functions from network to network that leave what every output stands for as it is (Aurora §3).

One tactic is one file with one function of the same name; `RULES` says which are applied, in which order, and
`WHILE_RUNNING` which of them to a network that has state. Tactics ask boxes for their traits (`arterial.network.box`)
and know what was measured (`Figures`). `decide` is the run-time optimizer: whether a change pays. Begin reading with
the room `tactics`, then `decide`.
"""

from __future__ import annotations

from arterial.optimize.decide import Decision, Memory, Patience, decide, propose
from arterial.optimize.rules import RULES, WHILE_RUNNING, optimize
from arterial.optimize.tactic import Figures, Measured, Tactic, measured

__all__ = [
    "RULES",
    "WHILE_RUNNING",
    "Decision",
    "Figures",
    "Measured",
    "Memory",
    "Patience",
    "Tactic",
    "decide",
    "measured",
    "optimize",
    "propose",
]
