"""Rules of ops that move elements: reshape, transpose, broadcasts, slices, concatenate, pad, reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, listed, raw, require
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    Size,
    bit_width,
    is_complex,
    is_float,
    is_quantized,
    is_unique,
    most_specific,
    read_tensor,
    same_size,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import View


def check_reshape(view: View) -> None:
    """The number of elements stays, where both are static."""
    require_count(view.operands[0], view.results[0])


def require_count(operand: RankedTensor, result: RankedTensor) -> None:
    """Static types have the same number of elements."""
    if operand.is_static and result.is_static and operand.count != result.count:
        fail(
            f"number of output elements ({result.count}) doesn't match expected number of elements "
            f"({operand.count})"
        )


def infer_transpose(view: View) -> Sequence[RankedTensor]:
    """The permutation is one of the operand's dimensions."""
    operand, permutation = view.operands[0], view.integers("permutation")
    if len(permutation) != operand.rank:
        fail(f"TransposeOp operand rank {operand.rank} does not match permutation size {len(permutation)}")
    if sorted(permutation) != list(range(operand.rank)):
        fail(
            f"attribute permutation must be a permutation of [{listed(range(operand.rank))}] but got "
            f"{listed(permutation)}"
        )
    return (replace(operand.take(permutation), encoding=operand.encoding),)


def check_broadcast_in_dim(view: View) -> None:
    """Operand dimensions map to distinct result dimensions, of the same size unless it is 1."""
    require_broadcast_rank(view)
    require_broadcast_sizes(
        view,
        lambda size, wanted: size is None or size in (1, wanted),
        "is not equal to 1 or size of result dimension",
    )


def require_broadcast_rank(view: View) -> None:
    """There is one dimension for each of the operand."""
    count, rank = len(view.integers("broadcast_dimensions")), view.operands[0].rank
    require(count == rank, f"broadcast_dimensions size ({count}) does not match operand rank ({rank})")


def require_broadcast_sizes(view: View, fits: Callable[[Size, Size], bool], relation: str) -> None:
    """The dimensions are distinct dimensions of the result whose sizes fit those of the operand."""
    operand, result, dimensions = view.operands[0], view.results[0], view.integers("broadcast_dimensions")
    require(is_unique(dimensions), "broadcast_dimensions should not have duplicates")
    for index, dimension in enumerate(dimensions):
        if not 0 <= dimension < result.rank:
            fail(
                f"broadcast_dimensions contains invalid value {dimension} for result with rank {result.rank}"
            )
        size, wanted = operand.sizes[index], result.sizes[dimension]
        if not fits(size, wanted):
            fail(f"size of operand dimension {index} ({raw(size)}) {relation} {dimension} ({raw(wanted)})")


def infer_broadcast(view: View) -> Sequence[RankedTensor]:
    """New dimensions precede those of the operand."""
    operand, added = view.operands[0], view.integers("broadcast_sizes")
    for size in added:
        require(size >= 0, f"Broadcast with negative dimension size {size}")
    return (RankedTensor((*added, *operand.sizes), operand.element),)


def infer_slice(view: View) -> Sequence[RankedTensor]:
    """Ranges lie within the operand; strides are positive."""
    operand = view.operands[0]
    starts, limits, strides = (view.integers(n) for n in ("start_indices", "limit_indices", "strides"))
    if len(starts) != operand.rank:
        fail(
            f"the number of elements in start_indices ({len(starts)}) does not match the rank of the operand "
            f"({operand.rank})"
        )
    sizes: list[Size] = []
    for index, (start, limit, stride) in enumerate(zip(starts, limits, strides, strict=True)):
        require(start >= 0, f"negative start index {start} in dimension {index}")
        size, bound = operand.sizes[index], operand.bound(index)
        most, name = (size, "size") if size is not None else (bound, "bound")
        if most is not None and limit > most:
            fail(f"limit index {limit} is larger than dimension {name} {most} in dimension {index}")
        if start > limit:
            fail(f"start index {start} is larger than limit index {limit} in dimension {index}")
        require(stride > 0, f"stride must be positive but got {stride} in dimension {index}")
        sizes.append(-(-(limit - start) // stride))
    return (RankedTensor(tuple(sizes), operand.element),)


def infer_dynamic_slice(view: View) -> Sequence[RankedTensor]:
    """One start index a dimension, all of one element type; sizes fit the operand."""
    operand, starts, sizes = view.operands[0], view.operands[1:], view.integers("slice_sizes")
    if len(starts) != len(sizes):
        fail(
            f"has mismatched number of slice sizes ({len(sizes)}) and number of start indices ({len(starts)})"
        )
    if operand.rank != len(starts):
        fail(
            f"has mismatched number of start indices ({len(starts)}) and the rank of operand ({operand.rank})"
        )
    _need_one_index_type(starts)
    for index, size in enumerate(sizes):
        require(size >= 0, f"has negative size index to dynamic slice: {size}")
        most = operand.sizes[index]
        if most is not None and size > most:
            fail(f"has slice size {size} greater than dimension size {most} in dimension {index} of operand")
    return (RankedTensor(sizes, operand.element),)


def _need_one_index_type(starts: Sequence[RankedTensor]) -> None:
    if not all(
        start.element == starts[0].element or (is_float(start.element) and is_float(starts[0].element))
        for start in starts
    ):
        fail("start indices must have same element type")


def infer_dynamic_update_slice(view: View) -> Sequence[RankedTensor]:
    """The update has the operand's rank and fits it; one start index a dimension."""
    operand, update, *starts = view.operands
    if update.rank != operand.rank:
        fail(f"update rank does not match operand rank: {update.rank} vs {operand.rank}.")
    if len(starts) != operand.rank:
        fail(f"expects number of start_indices to match operand rank: {len(starts)} vs {operand.rank}.")
    _need_one_index_type(starts)
    for index, (size, most) in enumerate(zip(update.sizes, operand.sizes, strict=True)):
        if size is not None and most is not None and size > most:
            fail(f"expects size at dimension {index} of update to be in range [0, {most}]. Got: {size}.")
    return (operand,)


def infer_concatenate(view: View) -> Sequence[RankedTensor]:
    """Operands of one rank whose sizes agree but along the dimension, where they add up."""
    first, dimension = view.operands[0], view.integer("dimension")
    require(first.rank > 0, "rank-0 values cannot be concatenated")
    require(dimension < first.rank, f"dimension {dimension} is out-of-bounds for input rank {first.rank}")
    for index, tensor in enumerate(view.operands):
        require(tensor.rank == first.rank, f"operands (0) and ({index}) do not match rank")
        for at, (size, other) in enumerate(zip(first.sizes, tensor.sizes, strict=True)):
            if at != dimension and not same_size(size, other):
                fail(
                    f"shapes of operand (0) and ({index}) are not compatible at non-concat index {at}: "
                    f"({listed(first.sizes)}) != ({listed(tensor.sizes)})"
                )
    pairs = [_joined(view.operands, at, is_summed=at == dimension) for at in range(first.rank)]
    joined = first.resized(pairs, has_bounds=any(tensor.bounds for tensor in view.operands))
    return (replace(joined, encoding=first.encoding),)


def _joined(tensors: Sequence[RankedTensor], at: int, *, is_summed: bool) -> tuple[Size, Size]:
    size, bound = (0, None) if is_summed else (None, None)
    for tensor in tensors:
        other, limit = tensor.sizes[at], tensor.bound(at)
        if is_summed:
            size, bound = _summed(size, other, bound, limit)
        else:
            size, bound = most_specific(at, size, other, bound, limit)
    return size, bound


def _summed(left: Size, right: Size, bound: Size, other: Size) -> tuple[Size, Size]:
    if left is not None and right is not None:
        return left + right, None
    first = left if left is not None else bound
    second = right if right is not None else other
    return None, first + second if first is not None and second is not None else None


def padded_size(size: int, low: int, high: int, interior: int) -> int:
    """The size of a padded dimension."""
    return size + low + high + max(size - 1, 0) * interior


def infer_pad(view: View) -> Sequence[RankedTensor]:
    """One entry a dimension; interior padding is not negative, and sizes stay so."""
    operand = view.operands[0]
    low, high, interior = (
        view.integers(name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    if len(low) != operand.rank:
        fail(f"edge_padding_low length ({len(low)}) must match operand rank ({operand.rank})")
    pairs: list[tuple[Size, Size]] = []
    for index, (before, after, between) in enumerate(zip(low, high, interior, strict=True)):
        require(between >= 0, f"Interior padding cannot be negative: {between}")
        size, bound = operand.sizes[index], operand.bound(index)
        most, name = (size, "size") if size is not None else (bound, "bound")
        padded = None if most is None else padded_size(most, before, after, between)
        require(padded is None or padded >= 0, f"Padding result in negative {name} for dimension {index}")
        pairs.append((padded, None) if size is not None else (None, padded))
    return (replace(operand.resized(pairs, has_bounds=bool(operand.bounds)), encoding=operand.encoding),)


def check_reverse(view: View) -> None:
    """Dimensions exist and are distinct."""
    operand, dimensions = view.operands[0], view.integers("dimensions")
    require(is_unique(dimensions), f"dimensions should be unique. Got: {listed(dimensions)}")
    for dimension in dimensions:
        require(dimension >= 0, f"all dimensions should be non-negative. Got dimension: {dimension}.")
        if dimension >= operand.rank:
            fail(f"all dimensions should be between [0, {operand.rank}). Got dimension: {dimension}.")


def infer_operand(view: View) -> Sequence[RankedTensor]:
    """The first operand's type."""
    return (view.operands[0],)


def infer_constant(view: View) -> Sequence[RankedTensor | Attribute]:
    """The type of the value."""
    type_ = getattr(view.op.properties.get("value"), "type", None)
    tensor = read_tensor(type_) if isinstance(type_, Attribute) else None
    result = view.results[0]
    if tensor is None or is_quantized(result.element):
        return view.result_types
    return (tensor,)


def check_iota(view: View) -> None:
    """The result has the dimension along which it counts."""
    result = view.results[0]
    require(result.rank > 0, "does not support scalars.")
    require(view.integer("iota_dimension") < result.rank, "iota dimension cannot go beyond the output rank.")


def check_bitcast_convert(view: View) -> None:
    """The wider element takes the innermost dimension of the narrower one; the other dimensions stay."""
    operand, result = view.operands[0], view.results[0]
    if is_complex(operand.element) != is_complex(result.element):
        fail(f"cannot convert between real and complex types, but got: {operand} and {result}")
    narrow, wide = result, operand
    if bit_width(operand.element) < bit_width(result.element):
        narrow, wide = operand, result
    bits, wide_bits = bit_width(narrow.element), bit_width(wide.element)
    prefix = narrow.sizes
    if bits != wide_bits:
        if narrow.rank != wide.rank + 1:
            fail(
                f"rank of smaller element type ({narrow.rank}) should be 1 more than rank of larger element "
                f"type ({wide.rank}), but {narrow.rank} != {wide.rank} + 1."
            )
        *outer, inner = narrow.sizes
        if inner is not None and inner * bits != wide_bits:
            fail(
                f"requires compatible bit widths. Got: {operand} and {result}, but {bits} * {inner} != "
                f"{wide_bits}."
            )
        prefix = tuple(outer)
    if not all(map(same_size, prefix, wide.sizes)):
        fail(
            "operand and result shapes must match except for the innermost dimension of the shape with the "
            f"smaller element type. Got: {operand} and {result}."
        )


def _require_dimension(tensor: RankedTensor, dimension: int) -> None:
    """The tensor has the dimension."""
    require(dimension >= 0, f"requires non-negative dimension attribute; found ({dimension})")
    if dimension >= tensor.rank:
        fail(f"requires dimension attribute in range [0, {tensor.rank}); found ({dimension})")


def infer_dimension_size(view: View) -> Sequence[RankedTensor]:
    """The dimension exists; its size is an i32."""
    _require_dimension(view.operands[0], view.integer("dimension"))
    return (RankedTensor((), i32),)


def infer_set_dimension_size(view: View) -> Sequence[RankedTensor]:
    """The dimension exists and becomes dynamic, bounded by its static size."""
    operand, size = view.operands
    dimension = view.integer("dimension")
    require(size.rank == 0, "size operand should be of rank-0")
    _require_dimension(operand, dimension)
    sizes, bounds = list(operand.sizes), list(operand.bounds or (None,) * operand.rank)
    if sizes[dimension] is not None:
        bounds[dimension] = sizes[dimension]
    sizes[dimension] = None
    known = view.constant(1)
    if known and known[0] == bounds[dimension]:
        sizes[dimension], bounds[dimension] = known[0], None
    has_bounds = any(bound is not None for bound in bounds)
    return (RankedTensor(tuple(sizes), operand.element, tuple(bounds) if has_bounds else ()),)
