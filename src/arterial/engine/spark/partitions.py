"""Which integer stands for a slot in Spark, so that Spark's own partitioner gives every partition one slot."""

from __future__ import annotations

from functools import lru_cache

_SEED = 42


@lru_cache
def spark_keys(shards: int) -> tuple[int, ...]:
    """For each slot an integer, such that Spark's hash partitioning puts each into a partition of its own.

    >>> spark_keys(2), spark_keys(4)
    ((2, 0), (12, 6, 2, 0))
    """
    keys: dict[int, int] = {}
    candidate = 0
    while len(keys) < shards:
        keys.setdefault(spark_partition(candidate, shards), candidate)
        candidate += 1
    return tuple(keys[partition] for partition in range(shards))


def spark_partition(key: int, partitions: int) -> int:
    """The partition of an integer under Spark's HashPartitioning: Murmur3 (x86, 32 bits, seed 42), its remainder."""
    block = _rotate(key * 0xCC9E2D51, 15) * 0x1B873593
    state = (_rotate(_SEED ^ (block & 0xFFFFFFFF), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= 4  # the length of an integer in bytes
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    state ^= state >> 16
    signed = state - (1 << 32) if state >= 1 << 31 else state
    return signed % partitions


def _rotate(value: int, by: int) -> int:
    value &= 0xFFFFFFFF
    return ((value << by) | (value >> (32 - by))) & 0xFFFFFFFF
