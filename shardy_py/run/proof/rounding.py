"""By how much floats may differ between the whole and the local program.

Not here: making all floats f64 (`widening.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.arrays import AnyDtype
from shardy_py.ops.compute import Array

ROUNDINGS = 1 << 12
"""The allowed difference, in errors that one rounding of the inputs causes: see `allowed`."""


def allowed(expected: Array, moved: Array | None) -> float:
    """Returns by how much the elements of a float tensor may differ.

    Both programs compute in f64. They add the terms of sums in another order, which changes a result by a few
    roundings, amplified by the condition of what is computed from it. The condition is measured: `moved` is
    the tensor after each input element was changed by up to one rounding. The bound is `ROUNDINGS` times that
    change and one rounding of the largest element; sums of n terms differ by about sqrt(n) roundings. A
    wrong element differs by a part of its size, 2^40 times the bound of a well-conditioned program.
    """
    bound = largest(expected) * float(np.finfo(np.float64).eps)
    if moved is not None and moved.shape == expected.shape:
        change = np.abs(wide(moved) - wide(expected))
        bound += float(np.max(change, initial=0.0, where=np.isfinite(change)))
    return ROUNDINGS * bound


def differs(got: Array, expected: Array, bound: float, scale: float) -> NDArray[np.bool_]:
    """Returns which floats differ by more than `bound`.

    scale: the largest element of the whole tensor. If the bound is above it, roundings also decide whether an
    element is a number at all.
    """
    got, expected = wide(got), wide(expected)
    distance = np.abs(got - expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected)) | (distance <= bound)
    return ~(same | np.isnan(distance)) if bound > scale else ~same


def largest(array: Array) -> float:
    """Returns the absolute value of the largest finite element; 0 without any."""
    size = np.abs(wide(array))
    return float(np.max(size, initial=0.0, where=np.isfinite(size)))


def wide(array: Array) -> Array:
    """Returns the array as f64, or complex numbers of two f64."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def is_float(dtype: AnyDtype) -> bool:
    """Returns whether values are rounded."""
    return dtype.kind in "fc" or (dtype.kind == "V" and "float" in dtype.name) or dtype.name == "bfloat16"
