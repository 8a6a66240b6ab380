"""One file that grows with every step, each line in it exactly once, whatever is killed and run again.

A task writes what its slot adds to a part; when all slots are done, the driver appends the parts of the step.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from arterial.connectors.sink import Delivery, Sink
from arterial.network.box import Stream
from arterial.storage.appended import AppendedFiles, writing
from arterial.storage.place import put_in_place


@dataclass(frozen=True)
class AppendedSink(Sink):
    """The base of sinks that write such a file; a subclass says how a train becomes lines (`write_lines`).

    Sinks of several outputs may share their `files`, which can be one file or several; `kind` says which of them this
    output goes to, and in which order the outputs of a step are appended. A file that is there when a new run
    starts is replaced.
    """

    files: AppendedFiles
    kind: str = "0"

    def bind(self, output: str, stream: Stream, folder: Path) -> Sink:
        """Cut the files back to where the run goes on."""
        commits = folder.parent / "spark" / "commits"
        self.files.open(folder / "sinks" / output, began=commits.is_dir() and any(commits.iterdir()))
        return self

    @abstractmethod
    def write_lines(self, delivery: Delivery, file: BinaryIO) -> None:
        """Write the tuples of a delivery as lines. Runs in a task."""

    def write(self, delivery: Delivery) -> str | None:
        """Write the part of a slot, if there is anything to write; a step that is run again writes the same."""
        if not len(delivery.train):
            return None
        part = self.files.part(self.kind, delivery.step, delivery.slot)
        with writing(part):
            put_in_place(part, lambda file: self.write_lines(delivery, file))
        return part.name

    def receive(self, step: int, receipt: str) -> None:
        """Know of a part that a task wrote."""
        self.files.receive(step, receipt)

    def commit(self, step: int) -> None:
        """Append the parts of the step, all outputs that share the files together."""
        self.files.append(step)
