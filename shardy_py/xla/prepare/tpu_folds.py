"""The folds of XLA:TPU before it propagates shardings, beside those of `folds.py`; XLA:GPU has some of them.

    broadcast(reshape(x))  ->  broadcast(x), if the reshape only adds or drops dimensions of one element
    slice(slice(x))        ->  slice(x)
    slice(reshape(x))      ->  reshape(slice(x)), of the first elements

Source: openxla/xla, `HandleBroadcast` and `HandleSlice` in
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc. Not here: which ops are tried
(`for_tpu.py`).
"""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.added_updates import fold_added_update
from shardy_py.xla.prepare.converted_operands import fold_converted_factors, fold_product_by_predicate
from shardy_py.xla.prepare.convolution_folds import (
    fold_reversed_kernel,
    fold_swapped_convolution,
    fold_transposed_convolution,
    fold_transposed_operands,
)
from shardy_py.xla.prepare.cumulative_rows import fold_cumulative
from shardy_py.xla.prepare.folds import RESHAPE
from shardy_py.xla.prepare.fourier_products import fold_fourier
from shardy_py.xla.prepare.linear_algebra import fold_cholesky, fold_triangular_solve
from shardy_py.xla.prepare.product_folds import (
    fold_degenerate_product,
    fold_product,
    fold_product_by_vector,
    fold_product_of_zeros,
    fold_product_without_sums,
    fold_transposed_product,
)
from shardy_py.xla.prepare.reduce_folds import (
    fold_maximum_of_converted,
    fold_reduce_of_ones,
    fold_reduce_of_reduce,
    fold_reduce_of_reshape,
    fold_reduce_of_transpose,
    fold_sum_of_broadcast,
)
from shardy_py.xla.prepare.single_scatters import (
    fold_added_scatter,
    fold_scatter_in_rows,
    fold_scatter_of_one,
)
from shardy_py.xla.prepare.spread_forms import fold_broadcast_of_iota, fold_form_of_spread

SLICE = stablehlo.SliceOp.name


def fold_broadcast_of_reshape(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A broadcast of a value that only got or lost dimensions of one element broadcasts that value."""
    (value,) = operands_of(op)
    inner = folding.producer(value, RESHAPE)
    if inner is None:
        return None
    (source,) = operands_of(inner)
    made = folding.sizes_of(inner.results[0])
    if not folding.is_static(source) or 1 in folding.sizes_of(source):
        return None
    kept = [i for i, size in enumerate(made) if size != 1]
    if tuple(made[i] for i in kept) != folding.sizes_of(source):
        return None
    dimensions: tuple[int, ...] = plain(op.properties["broadcast_dimensions"])
    merged = folding.integers([dimensions[i] for i in kept])
    return folding.make(op, "broadcast_in_dim", [source], {"broadcast_dimensions": merged})


def fold_expanded_broadcast(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A broadcast of dimensions of one element is one of the value without them, as HLO has it."""
    (value,), (result,) = operands_of(op), op.results
    if not folding.is_static(value, result) or 1 not in folding.sizes_of(value):
        return None
    dimensions: tuple[int, ...] = plain(op.properties["broadcast_dimensions"])
    sizes, made = folding.sizes_of(value), folding.sizes_of(result)
    kept = [i for i, (size, at) in enumerate(zip(sizes, dimensions, strict=True)) if size == made[at]]
    if len(kept) == len(sizes):
        return None
    build = StablehloBuilder(before=op)
    return build.broadcast(
        build.reshape(value, [sizes[i] for i in kept]), made, [dimensions[i] for i in kept]
    )


def fold_slice_of_slice(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A slice of a slice is one."""
    inner = folding.producer(operands_of(op)[0], SLICE)
    if inner is None or not folding.is_static(*operands_of(inner)):
        return None
    (starts, limits, strides), (before, _, steps) = _bounds(op), _bounds(inner)
    first = [a + s * b for a, b, s in zip(before, starts, steps, strict=True)]
    last = [a + s * (b - 1) + 1 for a, b, s in zip(before, limits, steps, strict=True)]
    by = [a * b for a, b in zip(strides, steps, strict=True)]
    return StablehloBuilder(before=op).slice(operands_of(inner)[0], first, last, by)


def fold_first_of_reshape(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """The first elements of a reshape are a reshape of the first elements."""
    (value,) = operands_of(op)
    shaped = folding.producer(value, RESHAPE)
    if shaped is None or not folding.is_static(value, *operands_of(shaped)):
        return None
    (source,) = operands_of(shaped)
    (starts, limits, strides), sizes = _bounds(op), folding.sizes_of(value)
    if any(starts) or any(step != 1 for step in strides) or limits[1:] != [*sizes[1:]]:
        return None
    held = folding.sizes_of(source)
    first = next((i for i, size in enumerate(held) if size != 1), None)
    if first is None or not prod(held) or prod(limits) % (inner := prod(held[first + 1 :])):
        return None
    ends = [*held[:first], prod(limits) // inner, *held[first + 1 :]]
    return folding.reshaped(op, StablehloBuilder(before=op).slice(source, [0] * len(held), ends))


def _bounds(op: Operation) -> tuple[list[int], list[int], list[int]]:
    first, last, by = (
        [*plain(op.properties[name])] for name in ("start_indices", "limit_indices", "strides")
    )
    return first, last, by


BROADCAST_FOLDS: Final = fold_expanded_broadcast, fold_broadcast_of_reshape, fold_broadcast_of_iota
REDUCE_FOLDS: Final = (
    fold_reduce_of_ones,
    fold_reduce_of_reduce,
    fold_reduce_of_transpose,
    fold_reduce_of_reshape,
    fold_sum_of_broadcast,
)
SLICE_FOLDS: Final = fold_slice_of_slice, fold_first_of_reshape
TPU_FOLDS: dict[str, tuple[folding.Fold, ...]] = {
    f"stablehlo.{name}": folds
    for name, folds in {
        "add": (fold_added_update, fold_added_scatter),
        "cholesky": (fold_cholesky,),
        "broadcast_in_dim": BROADCAST_FOLDS,
        "convolution": (fold_reversed_kernel, fold_transposed_operands, fold_swapped_convolution),
        "dot_general": (
            fold_product_of_zeros,
            fold_degenerate_product,
            fold_product_without_sums,
            fold_product_by_vector,
            fold_product,
            fold_converted_factors,
        ),
        "fft": (fold_fourier,),
        "multiply": (fold_product_by_predicate,),
        "reduce": (*REDUCE_FOLDS, fold_maximum_of_converted),
        "reduce_window": (fold_cumulative,),
        "reshape": (fold_form_of_spread,),
        "scatter": (fold_scatter_in_rows, fold_scatter_of_one),
        "slice": SLICE_FOLDS,
        "transpose": (fold_transposed_product, fold_transposed_convolution, fold_form_of_spread),
        "triangular_solve": (fold_triangular_solve,),
    }.items()
}
"""The folds of each op, tried in this order, after those of `folds.FOLDS`."""
