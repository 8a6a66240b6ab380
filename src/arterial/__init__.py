"""Continuous queries over roads and other moving things, on Spark."""

__version__ = "0.1.0"
