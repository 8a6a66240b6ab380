"""Every kind of box, with the examples that its test module offers, `tests/boxes/<room>/test_<kind>.py`.

`case(stream)` draws networks of the box on a stream with the columns of `tests.conformance.tuples.SCHEMA`; `add` puts
the box into a random network, `WEIGHT` times as often as others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType

from arterial.drawing import StreamHandle
from tests.conformance.choices import Add
from tools.box_pages import own_boxes

Case = Callable[[StreamHandle], object]


def examples_of(kind: str) -> ModuleType:
    """The test module of a kind of box: in the room here that mirrors the box's own."""
    room = own_boxes()[kind].__module__.rpartition(".")[0].replace("arterial", "tests", 1)
    return import_module(f"{room}.test_{kind}")


def cases() -> dict[str, Case]:
    """The example networks of every kind."""
    return {kind: examples_of(kind).case for kind in own_boxes()}


@cache
def adds() -> tuple[Add, ...]:
    """What random networks are made of, the usual boxes several times."""
    modules = [examples_of(kind) for kind in own_boxes()]
    return tuple(
        module.add for module in modules if hasattr(module, "add") for _ in range(getattr(module, "WEIGHT", 1))
    )
