"""What a run leaves for those who connect to its views that are not kept: the network that computes each of them."""

from __future__ import annotations

import json
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


def leave_views(network: NetworkValue, checkpoint: Path) -> NetworkValue:
    """Write down what each view that is not kept is computed from; the network without them.

    A view that is kept now, and was not before, needs that no more.
    """
    for box in network.boxes:
        if box.connectable:
            folder = checkpoint / POINTS / box.name
            if box.keeping is not None:
                remove(folder / VIEW)
                continue
            path, end = path_of(network, box.name)
            try:
                said = {"network": json.loads(to_json(path)), "end": str(end), "modules": _modules(path)}
            except NetworkError as mistake:
                said = {"cannot": str(mistake)}
            make_folder(folder)
            put_in_place(folder / VIEW, json.dumps(said, indent=1))
    return without_views(network)


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
