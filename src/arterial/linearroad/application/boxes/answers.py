"""What the boxes that answer position reports have in common: notices, alerts and charges, as streams by road."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.boxes.columns import ALERT_SCHEMA, CHARGE_SCHEMA, NOTICE_SCHEMA, frame
from arterial.linearroad.application.feed import ROAD_KEY
from arterial.linearroad.application.kernels.tolls import Alerts, Charges, Notices
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import Train

NOTICES, ALERTS, CHARGES = "notices", "alerts", "charges"
SCHEMAS: Mapping[str, Schema] = {NOTICES: NOTICE_SCHEMA, ALERTS: ALERT_SCHEMA, CHARGES: CHARGE_SCHEMA}

Answered = tuple[Notices, Alerts, Charges]


def answer_streams() -> dict[str, Stream]:
    """The three streams, grouped by road as the reports are."""
    return {port: Stream(schema, "time", keyed_by=ROAD_KEY) for port, schema in SCHEMAS.items()}


def answer_trains(answered: Sequence[Answered], through: int) -> dict[str, Train]:
    """The answers of the train's minutes, one after the other."""
    trains = {}
    for place, (port, schema) in enumerate(SCHEMAS.items()):
        parts = [answers[place] for answers in answered]
        if not parts:
            trains[port] = Train(schema.empty(), through)
            continue
        columns: dict[str, Array] = {
            name: getattr(parts[0], name) if len(parts) == 1 else np.concatenate([getattr(p, name) for p in parts])
            for name in schema.names
        }
        trains[port] = Train(frame(schema, columns), through)
    return trains
