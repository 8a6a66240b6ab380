"""Where a network meets the world: sources, outputs, connection points and views. Begin with `source`."""
