"""Finds the network that a command is about: `module:net`, or `file.py:net`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from arterial.errors import ArterialError, NetworkError

if TYPE_CHECKING:
    from arterial.network.network import NetworkValue

NETWORK_HELP = (
    "The network: MODULE:NAME or FILE.py:NAME; NAME is a Network or a function that makes one (net if left out)."
)


def load_network(where: str, **given: int) -> NetworkValue:
    """The network of that name in a module or file; a function that makes one is called with what is given."""
    from arterial.drawing import Network
    from arterial.network.network import NetworkValue

    place, _, name = where.rpartition(":") if ":" in where else (where, "", "net")
    module = _load(place, where)
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if isinstance(value, Network | NetworkValue)]
        raise NetworkError(f"{place} has no {name!r}; networks in it: {', '.join(known) or 'none'}")
    found = getattr(module, name)
    if callable(found) and not isinstance(found, type):
        found = found(**given)
    if isinstance(found, Network):
        return found.value
    if isinstance(found, NetworkValue):
        return found
    raise NetworkError(f"{where} is a {type(found).__name__}; expected a Network, or a function that makes one")


def _load(place: str, where: str) -> ModuleType:
    try:
        if place.endswith(".py"):
            return _load_file(Path(place))
        sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(place)
    except ModuleNotFoundError as missing:
        if missing.name != place.partition(".")[0] and missing.name != place:
            raise NetworkError(f"{place} imports {missing.name!r}, which is not installed") from None
        raise NetworkError(
            f"no module {place!r} (for {where!r}); expected MODULE:NAME with a module that can be imported here, or "
            "FILE.py:NAME"
        ) from None
    except ArterialError:
        raise
    except Exception as mistake:
        raise NetworkError(f"{place} cannot be loaded: {type(mistake).__name__}: {mistake}") from None


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise NetworkError(f"{path} does not exist; expected a Python file that makes a network")
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
