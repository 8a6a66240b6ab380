"""How a kernel is compiled: ahead of the first call, for fixed types, so that no run ever stops to compile.

Arrays that a kernel only reads may be read-only (columns of a train are); numba would otherwise compile one variant for
each mixture of read-only and writable arguments, in the middle of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types

from arterial.arrays import Array

int8, int16, int32, int64, uint8, uint32, uint64, boolean = (
    getattr(types, name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "boolean")
)
F = TypeVar("F", bound=Callable[..., Any])


def reads(dtype: types.Type) -> types.Array:
    """The type of a column that a kernel only reads."""
    return types.Array(dtype, 1, "C", readonly=True)


def writes(dtype: types.Type) -> types.Array:
    """The type of a column that a kernel fills or gives back."""
    return types.Array(dtype, 1, "C")


def several(*results: types.Type) -> types.Type:
    """The type of what a kernel gives that gives more than one thing."""
    return types.Tuple(results)  # type: ignore[no-untyped-call]


def kernel(*arguments: types.Type, gives: types.Type = types.void) -> Callable[[F], F]:
    """Compile the function for these arguments; the machine code is kept beside the source."""
    return cast(
        Callable[[F], F], njit(gives(*arguments), cache=True, nogil=True, error_model="numpy", boundscheck=False)
    )


def column(values: Array, dtype: type[np.generic]) -> Array:
    """The values as a contiguous column of this type; no copy where they are one."""
    return np.ascontiguousarray(values, dtype=dtype)


def narrowed(vids: Array) -> Array:
    """Vehicle numbers in 32 bits where they fit: state is read and written far more often than it is computed."""
    return vids.astype(np.int32 if vids.size == 0 or vids.max() <= np.iinfo(np.int32).max else np.int64)
