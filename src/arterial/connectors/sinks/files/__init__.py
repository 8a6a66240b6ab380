"""Sinks that write files: parts, one growing file, compacted ones, and how long they are kept. Begin with `parts`."""
