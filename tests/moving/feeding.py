"""Feeding events to an engine, and following its updates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from arterial.moving.queries.events import Drop, Event, Register, Report, Sign, Update
from arterial.moving.queries.ids import Id
from arterial.moving.shared.shared import SharedExecution


def feed(engine: SharedExecution, t: float, events: Iterable[Event]) -> list[Update]:
    """Give an engine the events of a time unit; its updates."""
    reports = []
    for event in events:
        match event:
            case Report():
                reports.append(event)
            case Register():
                engine.register(event.name, event.query)
            case Drop():
                engine.drop(event.name)
    slots = engine.objects_of([report.object for report in reports])
    x, y = np.array([report.x for report in reports], float), np.array([report.y for report in reports], float)
    return list(engine.updates(engine.step(t, slots, x, y)))


class Follower:
    """Builds answers from updates, and refuses to add what is present or remove what is absent."""

    def __init__(self) -> None:
        self.answers: dict[Id, set[Id]] = {}

    def follow(self, updates: Iterable[Update]) -> None:
        """Apply updates."""
        for update in updates:
            answer = self.answers.setdefault(update.query, set())
            assert (update.object in answer) == (update.sign is Sign.NEGATIVE), update
            answer ^= {update.object}

    def holds(self, answers: dict[Id, set[Id]]) -> bool:
        """Are these the answers, where one that is empty need not have been heard of?"""
        return {name: answer for name, answer in self.answers.items() if answer} == {
            name: answer for name, answer in answers.items() if answer
        }
