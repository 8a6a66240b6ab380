"""Boxes over signed streams, whose answers change by plus and minus tuples (GPAC §4). Begin with `distinct`."""
