"""Collectives within their groups, as functions of stacked arrays.

`parts` is (groups, members, *shape): what each member of each group brings. The result is
(groups, members, *result shape), or has 1 member if all of a group receive the same.

>>> all_gather(np.array([[[1, 2], [3, 4]]]), dimension=0).tolist()
[[[1, 2, 3, 4]]]

Not here: which processes form a group (`grid.py`), who waits for whom (`collectives.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shardy_py.ops.compute import Array

Combine = Callable[[Array, Array], Array]
"""The computation of a reduction, on arrays of equal shapes."""


def all_gather(parts: Array, dimension: int) -> Array:
    """Section "all_gather": concatenates the members' arrays."""
    return np.concatenate([parts[:, m] for m in range(parts.shape[1])], 1 + dimension)[:, None]


def all_reduce(parts: Array, combine: Combine) -> Array:
    """Section "all_reduce": folds the members' arrays in the order of the group."""
    total = parts[:, 0]
    for member in range(1, parts.shape[1]):
        total = combine(total, parts[:, member])
    return total[:, None]


def collective_reduce(parts: Array, combine: Combine) -> Array:
    """Section "collective_reduce": the first member receives the sum, the others zeros."""
    total = all_reduce(parts, combine)
    zeros = np.zeros((total.shape[0], parts.shape[1] - 1, *total.shape[2:]), total.dtype)
    return np.concatenate([total, zeros], 1)


def reduce_scatter(parts: Array, combine: Combine, dimension: int) -> Array:
    """Section "reduce_scatter": folds, then gives each member its part of the dimension."""
    total = all_reduce(parts, combine)[:, 0]
    return split(total, 1 + dimension, parts.shape[1], 1)


def all_to_all(parts: Array, split_dimension: int, concat_dimension: int, count: int) -> Array:
    """Section "all_to_all": member r receives part r of every member, concatenated."""
    pieces = split(parts, 2 + split_dimension, count, 1)  # (groups, receivers, senders, *piece)
    received = [pieces[:, :, sender] for sender in range(pieces.shape[2])]
    return np.concatenate(received, 2 + concat_dimension)


def split(array: Array, axis: int, count: int, to: int) -> Array:
    """Returns equal parts of an axis, stacked along a new axis `to`, which lies before it."""
    shape = array.shape
    parts = array.reshape(*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    return np.moveaxis(parts, axis, to)
