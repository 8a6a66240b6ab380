"""A relation while a network is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

from arterial.network.network import Port
from arterial.network.relation import Relation


@dataclass
class RelationHandle:
    """A relation of a network that is being drawn: where its changes come from, and who reads it."""

    relation: Relation
    changes: Port | None = None
    read: list[str] = field(default_factory=list)
