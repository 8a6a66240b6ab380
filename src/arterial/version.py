"""The version of the package, apart so that every layer may tell it."""

__version__ = "0.1.0"
