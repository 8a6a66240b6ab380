"""Measurements, each figure beside its target; `make bench` runs them all."""
