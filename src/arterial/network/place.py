"""Where a user's class or function is defined, and whether another process can import it from there."""

from __future__ import annotations

import importlib
import sys
import sysconfig
from typing import Any

from arterial.errors import NetworkError


def place_of(defined: Any) -> str:
    """The place of a class or function: "module:name"."""
    return f"{defined.__module__}:{defined.__qualname__}"


def is_findable(place: str) -> bool:
    """Whether the name alone leads to it: it is at the top level of a module, or in a class there."""
    return "<" not in place


def find(place: str) -> Any:
    """What is defined at a place."""
    module, _, path = place.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise NetworkError(f"cannot find {place}: {error}") from None
    return found


def only_here(module: str) -> bool:
    """Whether only this process knows a module: a script, a notebook or a file of the user's, not an installed package.

    What is defined there has to be sent to other processes by value.
    """
    if module == "__main__":
        return True
    if module.partition(".")[0] == "arterial":
        return False
    if module not in sys.modules:
        return True
    file = getattr(sys.modules[module], "__file__", None)
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]
    return file is not None and not any(file.startswith(path) for path in installed)
