"""Faults, visited one by one: a disk that records, a Spark that is simulated (decision 27)."""
