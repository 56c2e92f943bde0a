"""Reductions along dimensions.

Not here: windows (`windowed.py`).
"""

from __future__ import annotations

from math import prod

import numpy as np

from shardy_py.base.arrays import Ufunc
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.combining import (
    WIDE_ROW,
    Arrays,
    applied,
    fold,
    identity_of,
    ufuncs_of,
    wide_type,
    with_signed_zeros,
)
from shardy_py.ops.compute.extremes import extremes
from shardy_py.ops.compute.lanes import (
    Array,
    Compute,
    RegionFunction,
    behind_lanes,
    dtype_of,
    in_lanes,
    lanes_of,
)
from shardy_py.ops.compute.precision import NARROW_FLOATS


def converted(record: OpRecord, operands: tuple[Array, ...]) -> tuple[Arrays, Arrays]:
    """Returns the inputs and initial values of a reduction, in the types that its region combines."""
    types = [dtype_of(result) for result in record.results] * 2
    arrays = tuple(a.astype(dtype, copy=False) for a, dtype in zip(operands, types, strict=True))
    return arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]


def reduce(record: OpRecord, body: RegionFunction, *operands: Array) -> Array | Arrays:
    """StableHLO's specification, "reduce"."""
    inputs, inits = converted(record, operands)
    axes = behind_lanes(record.attributes["dimensions"])
    ufuncs = ufuncs_of(body, len(inputs))
    if ufuncs is not None:
        results = tuple(
            _reduced(ufunc, values, init, axes)
            for ufunc, values, init in zip(ufuncs, inputs, inits, strict=True)
        )
    else:
        results = reduced_by(body, inputs, inits, axes)
    return results[0] if len(results) == 1 else results


def _reduced(ufunc: Ufunc, values: Array, init: Array, axes: tuple[int, ...]) -> Array:
    if wide_type(values.dtype, ufunc) == values.dtype in NARROW_FLOATS:
        return _in_steps(ufunc, values, init, axes)
    dtype = wide_type(values.dtype)
    rank = values.ndim - 1 - len(axes)

    def run(ufunc: Ufunc, values: Array, init: Array) -> Array:
        wide = dtype if ufunc is not np.logical_or else np.dtype(np.bool_)
        first = None if 0 not in values.shape else identity_of(ufunc, wide)
        result = (
            ufunc.reduce(values, axes, wide)
            if first is None
            else ufunc.reduce(values, axes, wide, initial=first)
        )
        return ufunc(result, init.reshape(-1, *(1,) * rank), dtype=wide)

    return with_signed_zeros(ufunc, run, values, init).astype(values.dtype, copy=False)


def _in_steps(ufunc: Ufunc, values: Array, init: Array, axes: tuple[int, ...]) -> Array:
    """Returns elements combined one after the other from the initial value on, each result rounded."""
    lanes = lanes_of(values, init)
    kept = [axis for axis in range(1, values.ndim) if axis not in axes]
    rows = in_lanes(values, lanes).transpose(*sorted(axes), 0, *kept)
    rows = rows.reshape(prod(rows.shape[: len(axes)]), *rows.shape[len(axes) :])
    first = np.broadcast_to(init.reshape(-1, *(1,) * len(kept)), rows.shape[1:])
    steps = np.concatenate((first[None], rows))
    if first.size >= WIDE_ROW:
        return ufunc.reduce(steps, 0, steps.dtype)
    # numpy reduces f16 along a contiguous axis in pairs, in f32.
    return ufunc.accumulate(np.moveaxis(steps, 0, -1), -1)[..., -1]


def reduced_by(body: RegionFunction, inputs: Arrays, inits: Arrays, axes: tuple[int, ...]) -> Arrays:
    """Returns the inputs with some axes combined by any region."""
    kept = [axis for axis in range(1, inputs[0].ndim) if axis not in axes]
    shape = [inputs[0].shape[axis] for axis in kept]
    size = prod(inputs[0].shape[axis] for axis in axes)
    firsts = tuple(
        np.broadcast_to(init.reshape(-1, *(1,) * len(kept)), (len(init), *shape)) for init in inits
    )
    if not size:
        return firsts
    best = extremes(body, inputs, axes[0]) if len(axes) == 1 else None
    if best is not None:
        return applied(body, *firsts, *best)
    order = (0, *kept, *sorted(axes))
    rows = tuple(values.transpose(order).reshape(len(values), *shape, size) for values in inputs)
    return applied(body, *firsts, *fold(body, rows))


COMPUTE: dict[str, Compute] = {"stablehlo.reduce": reduce}
"""The function of each op."""
