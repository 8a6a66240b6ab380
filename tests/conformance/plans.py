"""Random plans over moving objects, each of which can be drawn with GPAC-IN at any place (GPAC §5)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.moving import gpac_in

REPORTS = {"time": int, "object": int, "x": float, "y": float, "type": str, "speed": int}
FAVOURITES = {"time": int, "object": int, "owner": str, "sign": "int8"}


@dataclass(frozen=True)
class Plan:
    """Steps between the objects' reports and the answer; a step is a word and what it needs.

    `moves` tells all moves of the answer's members: only then may steps read positions, and is a row with its position
    the same wherever GPAC-IN stands.
    """

    query: dict[str, Any]
    steps: tuple[tuple[str, str], ...]
    top: str
    timeout: int | None
    moves: bool

    @property
    def places(self) -> range:
        """Where GPAC-IN can stand: on the reports, or before or after any of the steps."""
        return range(-1, len(self.steps) + 1)

    def drawn(self, place: int) -> Network:
        """The plan with GPAC-IN at a place."""
        net = Network("plan")
        reports = net.source("reports", REPORTS)
        favourites = net.source("favourites", FAVOURITES, signed=True)
        if place == -1:
            stream = gpac_in(reports, "gpac", **self.query, timeout=self.timeout, moves=self.moves)
        else:
            stream = reports.latest("latest", "object", timeout=self.timeout)
        focals: dict[str, Any] = {"focals": stream} if "focal" in self.query else {}
        for i, step in enumerate(self.steps):
            if i == place:
                stream = gpac_in(stream, "gpac", **self.query, **focals, moves=self.moves)
            stream = _step(stream, f"step{i}", step, favourites)
        if place == len(self.steps):
            stream = gpac_in(stream, "gpac", **self.query, **focals, moves=self.moves)
        if not self.moves:
            kept = [name for name in stream.schema.names if name not in ("x", "y")]
            stream = stream.map("placeless", keep=kept)
        _top(stream, self.top).output("answer")
        return net


def _step(stream: StreamHandle, name: str, step: tuple[str, str], favourites: StreamHandle) -> StreamHandle:
    word, text = step
    match word:
        case "select":
            return stream.filter(name, text)
        case "project":
            return stream.map(name, speed=text)
        case "match":
            made = stream.match(name, favourites, on=text)
            return made.map(f"{name}_owned", keep=[n for n in made.schema.names if not n.startswith("right_")])
        case "union":
            return stream.union(name, stream.filter(f"{name}_some", text))
        case "forget":
            kept = [n for n in stream.schema.names if n in REPORTS]
            return stream.map(name, keep=kept)
        case "distinct":
            return stream.distinct(name)
    raise AssertionError(word)


def _top(stream: StreamHandle, word: str) -> StreamHandle:
    match word:
        case "distinct":
            return stream.distinct("top", by=["type", "speed"])
        case "count":
            return stream.aggregate("top", n="count(*)", fastest="max(speed)")
        case "by type":
            return stream.group_by("type").aggregate("top", n="count(*)", m="avg(speed)", lo="min(object)")
        case "project":
            return stream.map("top", keep=["time", "object"])
        case "by type, distinct":
            return (
                stream.group_by("type").aggregate("by", n="count(distinct speed)").group_by().distinct("top", by=["n"])
            )
    return stream


QUERIES: list[dict[str, Any]] = [
    {"region": (-5, -5, 4, 6)},
    {"focal": 2, "length": 12, "width": 9},
    {"region": (-99, -99, 0, 99)},
]
CONDITIONS = ["type = 'truck'", "speed > 45", "speed > 45 or type = 'car'", "object % 2 = 0", "speed is null"]
PLACED = ["x > 0", "x + speed > 40"]


@st.composite
def plans(draw: st.DrawFn, *, moves: bool) -> Plan:
    """A plan of a few steps."""
    conditions = CONDITIONS + (PLACED if moves else [])
    options = {
        "select": conditions,
        "union": conditions,
        "project": ["speed + 10", "case when speed > 45 then 1 else 0 end"],
        "forget": [""],
    } | ({"distinct": [""]} if moves else {})
    steps, matched = [], False
    for _ in range(draw(st.integers(1, 4))):
        words = [*options, *([] if matched else ["match", "match"])]
        word = draw(st.sampled_from(words))
        if word == "match":
            matched = True
            text = draw(
                st.sampled_from(["left.object = right.object", "left.object = right.object and left.speed > 45"])
            )
        else:
            text = draw(st.sampled_from(options[word]))
        steps.append((word, text))
    query = draw(st.sampled_from(QUERIES))
    top = draw(st.sampled_from(["none", "distinct", "count", "by type", "project", "by type, distinct"]))
    return Plan(query, tuple(steps), top, draw(st.sampled_from([None, 4, 15])), moves)


def world(seed: int, length: int = 60, objects: int = 6) -> dict[str, list[dict[str, Any]]]:
    """Objects that wander and change their speed, and favourites that come and go."""
    chance = random.Random(seed)
    at = {o: (chance.uniform(-9, 9), chance.uniform(-9, 9), chance.choice([40, 60])) for o in range(objects)}
    reports: list[dict[str, Any]] = []
    favourites: list[dict[str, Any]] = []
    now = 0
    loved: list[dict[str, Any]] = []
    for _ in range(length):
        now += chance.choice([0, 0, 0, 1, 1, 2, 8])
        o = chance.randrange(objects)
        x, y, speed = at[o]
        step = chance.choice([0.0, 2.0, 6.0])
        x, y = x + chance.uniform(-step, step), y + chance.uniform(-step, step)
        at[o] = (x, y, chance.choice([speed, speed, 40, 50, 60]))
        place: tuple[Any, ...] = (x, y) if chance.random() < 0.96 else (None, y)
        told = chance.choice([at[o][2], at[o][2], at[o][2], None])
        reports.append(dict(zip(REPORTS, (now, o, *place, "truck" if o % 3 else "car", told), strict=True)))
        if chance.random() < 0.4:
            if loved and chance.random() < 0.5:
                favourites.append(loved.pop(chance.randrange(len(loved))) | {"time": now, "sign": -1})
            else:
                loved.append(
                    {"time": now, "object": chance.randrange(objects), "owner": chance.choice("ab"), "sign": 1}
                )
                favourites.append(loved[-1])
    return {"reports": reports, "favourites": favourites}
