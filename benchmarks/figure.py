"""A measured figure beside its target, and the table that shows many of them."""

from __future__ import annotations

from dataclasses import dataclass

from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One measurement. `at_most` or `at_least` is the target; neither means that the figure is for information."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    remark: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without a target."""
        if self.at_most is not None:
            return bool(self.value <= self.at_most)  # NumPy has a bool of its own
        if self.at_least is not None:
            return bool(self.value >= self.at_least)
        return None

    @property
    def target(self) -> str:
        """The target as text."""
        if self.at_most is not None:
            return f"≤ {self.at_most:,g}"
        if self.at_least is not None:
            return f"≥ {self.at_least:,g}"
        return ""


def table(figures: list[Figure]) -> Table:
    """The figures as a table for a terminal."""
    shown = Table("figure", "measured", "unit", "target", "", "remark", title="Arterial benchmarks")
    for figure in figures:
        mark = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[figure.met]
        shown.add_row(
            figure.name,
            f"{figure.value:,.3g}" if abs(figure.value) < 1000 else f"{figure.value:,.0f}",
            figure.unit,
            figure.target,
            mark,
            figure.remark,
        )
    return shown
