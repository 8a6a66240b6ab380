"""What can be attached to in a run: its connection points and its views."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from arterial.connectors.points.contents import POINTS, read_point
from arterial.connectors.points.source import open_point, point_names
from arterial.engine.attach.adopt import free_name, graft
from arterial.engine.attach.begin_later import BeginLater
from arterial.engine.run.checkpoint.folder import FOLDER
from arterial.engine.run.versions.views import ViewNetwork, read_view, view_names
from arterial.engine.steering.arcs import ARCS_FILE, read_arcs
from arterial.errors import RunError, near
from arterial.network.box import IN, OUT, Stream
from arterial.network.network import Arc, NetworkValue, Port
from arterial.storage.remote import stamp


@dataclass(frozen=True)
class Place:
    """A connection point or view of a run, as a query sees it."""

    name: str
    stream: Stream
    folders: Mapping[str, Path]
    """The tables that are read, by the name of their connection point."""
    path: ViewNetwork | None = None
    """Of a view that is not kept: what computes it."""

    @property
    def remembers(self) -> bool:
        """Whether it is computed by boxes with state, which must have seen what came before it, such as all of a window
        that ends later."""
        return self.path is not None and not all(box.stateless or box.regroups for box in self.path.network.boxes)

    def complete(
        self, query: NetworkValue, tables: Iterable[str] = (), since: int | None = None
    ) -> tuple[NetworkValue, Mapping[str, Path]]:
        """The network of a query on this place, and the tables behind its sources; `since` leaves out what is earlier,
        where the tables cannot."""
        free = [name for name in query.source_names if name not in tables]
        source = self.name if self.name in free else free[0] if len(free) == 1 else None
        if source is None:
            raise RunError(
                f"network {query.name!r}: expected a source {self.name!r}, the place that is asked; it has: "
                f"{', '.join(free) or 'none'}{near(self.name, free)}"
            )
        if self.path is None:
            return query, {source: self.folders[self.name]}
        path, end = self.path.network, self.path.end
        if since is not None and self.remembers:
            later = BeginLater(free_name(f"{self.name} since", {box.name for box in path.boxes}), since)
            path = NetworkValue(path.name, (*path.boxes, later), (*path.arcs, Arc(end, Port(later.name, IN))))
            end = Port(later.name, OUT)
        return graft(path, end, query, source), self.folders


def find_place(checkpoint: Path, name: str) -> Place:
    """The connection point or view of that name; raises if there is none, and says which there are."""
    folder = checkpoint / POINTS / name
    if (view := read_view(folder)) is not None:
        folders = {name: folder.parent / name for name in view.network.source_names}
        stream = replace(view.network.streams[view.end], keyed_by=())
        return Place(name, stream, folders, view)
    if read_point(folder) is None:
        known = sorted({*point_names(checkpoint / POINTS), *view_names(checkpoint)})
        have = f"there are: {', '.join(known)}{near(name, known)}" if known else "the run keeps none"
        raise RunError(f"{checkpoint}: there is no connection point or view {name!r}; {have}")
    point = open_point(folder)
    return Place(name, Stream(point.schema, point.time, signed=point.signed), {name: folder})


GONE_SECONDS = 1.0
"""A run that is started again says for an instant what arcs an older version of its network had."""


class Dropped:
    """Looks whether the network that runs still has the connection points that are read: a replacement may drop one."""

    def __init__(self, checkpoint: Path) -> None:
        self._folder = checkpoint / FOLDER
        self._stamp: tuple[int, ...] | None = None
        self._ends: frozenset[str] = frozenset()
        self._missed: float | None = None

    def first(self, names: Iterable[str]) -> str | None:
        """The first of these that it no longer has; None if it has all, or says nothing of its arcs."""
        try:
            now = stamp(self._folder / ARCS_FILE)
            if now != self._stamp:
                self._ends = frozenset(arc.end for arc in read_arcs(self._folder).values())
                self._stamp = now
        except (FileNotFoundError, RunError):
            return None
        gone = next((name for name in names if f"{name}.{IN}" not in self._ends), None)
        if gone is None:
            self._missed = None
        elif self._missed is None:
            self._missed = time.monotonic()
        elif time.monotonic() - self._missed >= GONE_SECONDS:
            return gone
        return None
