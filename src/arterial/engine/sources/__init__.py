"""Sources: where the tuples of a run come from."""

from arterial.engine.sources.source import Ask, Part, Position, Progress, Source

__all__ = ["Ask", "Part", "Position", "Progress", "Source"]
