"""Runs networks on Spark."""
