"""What a dialect is: the layout of an output file, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FLAT_FILE = "output.csv"


@dataclass(frozen=True)
class Dialect:
    """The fields of each answer type after its number, and how the time of emission is written."""

    name: str
    columns: Mapping[int, tuple[str, ...]]
    emit: Literal["seconds", "whole_seconds", "elapsed_milliseconds"] = "seconds"
    file_per_type: bool = False
    # The moment of a balance: that of the request (rule 17), or that of the vehicle's last toll notice.
    balance_at: Literal["request", "last_notice"] = "request"

    @property
    def types(self) -> tuple[int, ...]:
        """The types that this dialect can express."""
        return tuple(self.columns)

    def file_names(self) -> dict[int, str]:
        """The file of each type inside an output folder."""
        return {t: f"output-{t}.csv" if self.file_per_type else FLAT_FILE for t in self.types}
