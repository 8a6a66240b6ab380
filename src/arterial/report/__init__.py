"""Self-contained HTML pages with plots: `Page` builds one, `plots` makes the figures that go into it.

Others import `Page`, `Tile` and `Mark` from here, and `plots`. Begin with `page`.
"""

from arterial.report.page import Mark, Page, Tile

__all__ = ["Mark", "Page", "Tile"]
