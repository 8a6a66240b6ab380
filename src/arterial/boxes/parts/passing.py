"""Compiled loops of boxes that let a tuple pass by what their group saw before. Each walks the tuples in order."""

from __future__ import annotations

from numba import njit

from arterial.arrays import Array


@njit(cache=True)
def first_within(slots: Array, times: Array, within: int, known: Array, passed: Array, passes: Array) -> None:
    """passes[i] = whether no tuple of its slot passed up to `within` before; `passed` is when one did, if `known`."""
    for i in range(len(slots)):
        s = slots[i]
        if known[s] and times[i] - within <= passed[s]:
            passes[i] = False
        else:
            known[s] = True
            passed[s] = times[i]
            passes[i] = True


@njit(cache=True)
def run_lengths(slots: Array, holds: Array, most: int, lengths: Array, out: Array) -> None:
    """out[i] = how many tuples of its slot up to this one hold in a row, at most `most`; lengths go on."""
    for i in range(len(slots)):
        s = slots[i]
        if not holds[i]:
            lengths[s] = 0
        elif lengths[s] < most:
            lengths[s] += 1
        out[i] = lengths[s]
