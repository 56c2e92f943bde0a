"""By how much floats may differ between the whole and the local program.

Not here: making all floats f64 (`widening.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shardy_py.compute import Array

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
    size = np.abs(wide(expected))
    largest = float(np.max(size, initial=0.0, where=np.isfinite(size)))
    bound = largest * float(np.finfo(np.float64).eps)
    if moved is not None and moved.shape == expected.shape:
        change = np.abs(wide(moved) - wide(expected))
        bound += float(np.max(change, initial=0.0, where=np.isfinite(change)))
    return ROUNDINGS * bound


def wide(array: Array) -> Array:
    """Returns the array as f64, or complex numbers of two f64."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Returns whether values are rounded."""
    return dtype.kind in "fc" or (dtype.kind == "V" and "float" in dtype.name) or dtype.name == "bfloat16"
