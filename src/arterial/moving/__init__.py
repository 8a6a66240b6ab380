"""Continuous range and nearest-neighbour queries over moving objects (GPAC)."""
