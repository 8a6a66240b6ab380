"""What a run leaves for those who connect to its views that are not kept: the network that computes each of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arterial.connectors.points.contents import POINTS
from arterial.engine.plan.views import path_of, without_views
from arterial.errors import NetworkError, RunError
from arterial.network.network import NetworkValue, Port
from arterial.network.serial import from_json, to_json
from arterial.storage.place import make_folder, put_in_place, remove

VIEW = "view.json"


@dataclass(frozen=True)
class ViewNetwork:
    """What computes a view: a network whose sources have the names of connection points, and where the view leaves."""

    network: NetworkValue
    end: Port


@dataclass(frozen=True)
class LeftViews:
    """A network without its views that are not kept, and what is written down about those."""

    network: NetworkValue
    computed: Mapping[str, str]
    """By view that is not kept: the text of its file."""
    kept: tuple[str, ...]

    def leave(self, checkpoint: Path) -> None:
        """Write down what each view that is not kept is computed from; before the network runs."""
        for name, text in self.computed.items():
            make_folder(checkpoint / POINTS / name)
            put_in_place(checkpoint / POINTS / name / VIEW, text)

    def forget(self, checkpoint: Path) -> None:
        """A view that is kept now needs that no more; once the network runs."""
        for name in self.kept:
            remove(checkpoint / POINTS / name / VIEW)


def left_views(network: NetworkValue) -> LeftViews:
    """What is to be left of a network's views; raises if one that is not kept could not be computed."""
    computed, kept = {}, []
    for box in network.boxes:
        if not box.connectable:
            continue
        if box.keeping is not None:
            kept.append(box.name)
            continue
        path, end = path_of(network, box.name)
        try:
            said = {"network": json.loads(to_json(path)), "end": str(end), "modules": _modules(path)}
        except NetworkError as mistake:
            said = {"cannot": str(mistake)}
        computed[box.name] = json.dumps(said, indent=1)
    return LeftViews(without_views(network), computed, tuple(kept))


def leave_views(network: NetworkValue, checkpoint: Path) -> NetworkValue:
    """The network without its views that are not kept, of a run that begins: what computes them is written down."""
    left = left_views(network)
    left.leave(checkpoint)
    left.forget(checkpoint)
    return left.network


def view_names(checkpoint: Path) -> list[str]:
    """The views of a run that are not kept."""
    folder = checkpoint / POINTS
    return sorted(path.parent.name for path in folder.glob(f"*/{VIEW}")) if folder.is_dir() else []


def read_view(folder: Path) -> ViewNetwork | None:
    """What computes the view of a folder; None if it is kept, or none."""
    try:
        said = json.loads((folder / VIEW).read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as broken:
        raise RunError(f"{folder / VIEW}: is damaged ({broken}). Start the run again: it is written then.") from None
    if "cannot" in said:
        raise RunError(
            f"view {folder.name!r}: it is computed when somebody connects, and that needs its boxes in another "
            f"process: {said['cannot']}. Materialise the view, or attach the network to the connection point before it"
        )
    box, _, port = said["end"].rpartition(".")
    return ViewNetwork(from_json(json.dumps(said["network"]), said["modules"]), Port(box, port))


def _modules(network: NetworkValue) -> list[str]:
    """The modules of a user's own boxes and functions; this run has imported them, so another may."""
    from arterial.network.expression.function import functions_of

    boxes = {type(box).__module__ for box in network.boxes}
    functions = {function.body.__module__ for box in network.boxes for function in functions_of(box)}
    return sorted(name for name in boxes | functions if not name.startswith("arterial."))
