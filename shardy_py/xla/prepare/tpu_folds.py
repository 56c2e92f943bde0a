"""What XLA:TPU folds of single ops before it propagates shardings, beside what StableHLO does (`folds.py`).

    broadcast(reshape(x))  ->  broadcast(x), if the reshape only adds or drops dimensions of one element
    slice(slice(x)), slice(reshape(slice(x)))  ->  slice(x)
    reduce(reduce(x)), reduce(transpose(x))  ->  reduce(x)       reduce of single elements  ->  reshape

Source: openxla/xla, `HandleBroadcast`, `HandleSlice` and `HandleReduce` in
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc. Not here: which ops are tried
(`for_tpu.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.ir import build_operation, operands_of, place_before
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import combiners_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, resized
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.convolution_folds import (
    CONVOLUTION,
    fold_reversed_kernel,
    fold_swapped_convolution,
    fold_transposed_convolution,
    fold_transposed_operands,
)
from shardy_py.xla.prepare.folds import BROADCAST, RESHAPE, TRANSPOSE
from shardy_py.xla.prepare.product_folds import (
    PRODUCT,
    fold_degenerate_product,
    fold_product,
    fold_product_by_vector,
    fold_transposed_product,
)
from shardy_py.xla.prepare.single_scatters import (
    fold_added_scatter,
    fold_scatter_in_rows,
    fold_scatter_of_one,
)

SLICE, _REDUCE = stablehlo.SliceOp.name, stablehlo.ReduceOp.name


def fold_broadcast_of_reshape(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A broadcast of a value that only got or lost dimensions of one element broadcasts that value."""
    inner = folding.producer(operands_of(op)[0], RESHAPE)
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


def fold_slice_of_slice(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A slice of a slice is one, also through a reshape that drops dimensions of one element."""
    (value,) = operands_of(op)
    shaped = folding.producer(value, RESHAPE)
    source = value if shaped is None else operands_of(shaped)[0]
    inner = folding.producer(source, SLICE)
    if inner is None or not folding.is_static(value, source) or not source.has_one_use():
        return None
    if shaped is not None and not value.has_one_use():
        return None
    starts, limits, strides = _bounds(op)
    sizes = folding.sizes_of(source)
    if shaped is not None:
        kept = [i for i, size in enumerate(sizes) if size != 1]
        if [sizes[i] for i in kept] != [*folding.sizes_of(value)]:
            return None
        for parts, whole in ((starts, 0), (limits, 1), (strides, 1)):
            own = dict(zip(kept, parts, strict=True))
            parts[:] = [own.get(i, whole) for i in range(len(sizes))]
    before, _, steps = _bounds(inner)
    build = StablehloBuilder(before=op)
    first = [a + s * b for a, b, s in zip(before, starts, steps, strict=True)]
    last = [a + s * (b - 1) + 1 for a, b, s in zip(before, limits, steps, strict=True)]
    by = [a * b for a, b in zip(strides, steps, strict=True)]
    return folding.reshaped(op, build.slice(operands_of(inner)[0], first, last, by))


def _bounds(op: Operation) -> tuple[list[int], list[int], list[int]]:
    first, last, by = (
        [*plain(op.properties[name])] for name in ("start_indices", "limit_indices", "strides")
    )
    return first, last, by


def fold_nested_reduce(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reduction of what another one of the same kind reduces is one; of single elements a reshape."""
    values = operands_of(op)
    if len(values) != 2 or not folding.is_static(values[0], op.results[0]):
        return None
    dimensions: tuple[int, ...] = plain(op.properties["dimensions"])
    sizes = folding.sizes_of(values[0])
    if (
        all(sizes[i] == 1 for i in dimensions)
        and combiners_of(op)[0] is not None
        and _starts_with_constant(op, splats)
    ):
        return folding.reshaped(op, values[0])
    inner = folding.producer(values[0], _REDUCE)
    if inner is not None and len(operands_of(inner)) == 2 and _combines_alike(op, inner, splats):
        before: tuple[int, ...] = plain(inner.properties["dimensions"])
        source = operands_of(inner)[0]
        left = [i for i in range(len(folding.sizes_of(source))) if i not in before]
        return _reduced(op, source, [*before, *(left[i] for i in dimensions)])
    return _reduced_before_moved(op, values[0], dimensions, sizes)


def _reduced_before_moved(
    op: Operation, value: SSAValue, dimensions: tuple[int, ...], sizes: tuple[int, ...]
) -> SSAValue | None:
    """The reduction of what is transposed, or gets dimensions of one element that are reduced."""
    moved = folding.producer(value, TRANSPOSE)
    if moved is not None:
        order: tuple[int, ...] = plain(moved.properties["permutation"])
        left = [at for i, at in enumerate(order) if i not in dimensions]
        source, along = operands_of(moved)[0], [order[i] for i in dimensions]
        if left == sorted(left):
            return _reduced(op, source, along)
        if not value.has_one_use():
            return None
        type_ = resized(op.results[0], [folding.sizes_of(source)[i] for i in sorted(left)])
        permutation = folding.integers([sorted(left).index(i) for i in left])
        return folding.make(
            op, "transpose", [_reduced(op, source, along, type_)], {"permutation": permutation}
        )
    shaped = folding.producer(value, RESHAPE)
    if shaped is None:
        return None
    (source,) = operands_of(shaped)
    added = [i for i in dimensions if sizes[i] == 1]
    left = [i for i in range(len(sizes)) if i not in added]
    if not folding.is_static(source) or [sizes[i] for i in left] != [*folding.sizes_of(source)] or not added:
        return None
    kept = [left.index(i) for i in dimensions if i not in added]
    return _reduced(op, source, kept) if kept else None


def _combines_alike(op: Operation, inner: Operation, splats: folding.Splats) -> bool:
    """True if two reductions of one value each combine by one op, from one value."""
    combined = combiners_of(op)
    if combined != combiners_of(inner) or combined[0] is None:
        return False
    starts = [operands_of(each)[1] for each in (op, inner)]
    return starts[0] is starts[1] or (
        (known := splats.of(starts[0])) is not None and known == splats.of(starts[1])
    )


def _starts_with_constant(op: Operation, splats: folding.Splats) -> bool:
    """True for reductions as users write them: the constant is neutral for the op."""
    return splats.of(operands_of(op)[1]) is not None


def _reduced(
    op: Operation, source: SSAValue, dimensions: Sequence[int], type_: Attribute | None = None
) -> SSAValue:
    """The reduction of another value along these dimensions, by default to the type of the result of `op`."""
    region = type(op.regions[0])()
    clone_region_into(op.regions[0], region, {})
    properties: dict[str, Attribute] = {**op.properties, "dimensions": folding.integers(sorted(dimensions))}
    new = build_operation(
        *(
            type(op),
            [source, operands_of(op)[1]],
            [type_ or op.results[0].type],
            properties,
            dict(op.attributes),
        ),
        op.location,
        regions=[region],
    )
    place_before(new, op)
    return new.results[0]


TPU_FOLDS: dict[str, tuple[folding.Fold, ...]] = {
    BROADCAST: (fold_broadcast_of_reshape,),
    TRANSPOSE: (fold_transposed_product, fold_transposed_convolution),
    PRODUCT: (fold_degenerate_product, fold_product_by_vector, fold_product),
    SLICE: (fold_slice_of_slice,),
    _REDUCE: (fold_nested_reduce,),
    CONVOLUTION: (fold_reversed_kernel, fold_transposed_operands, fold_swapped_convolution),
    stablehlo.AddOp.name: (fold_added_scatter,),
    stablehlo.ScatterOp.name: (fold_scatter_in_rows, fold_scatter_of_one),
}
"""The folds of each op, tried in this order, after those of `folds.FOLDS`."""
