"""Rules of gather and scatter: which dimensions are windows, which are collapsed, batched or indexed."""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.mlir.dialects.stablehlo.structs import GatherDimensionNumbers, ScatterDimensionNumbers
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, listed, raw, require, require_distinct
from shardy_py.mlir.dialects.stablehlo.verify.reduction import check_body, elements_of
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor, Size, Sizes, is_unique, same_size
from shardy_py.mlir.dialects.stablehlo.verify.view import View

_Numbers = GatherDimensionNumbers | ScatterDimensionNumbers

# ---------------------------------------------------------------------- lists of dimensions, by their names


def _require_order(numbers: _Numbers, name: str, *, is_distinct: bool = False) -> None:
    dimensions: tuple[int, ...] = getattr(numbers, name)
    if list(dimensions) != sorted(dimensions):
        fail(_order_message(numbers, name, "be sorted"))
    if is_distinct:
        _require_unique(numbers, name)


def _require_unique(numbers: _Numbers, name: str) -> None:
    if not is_unique(getattr(numbers, name)):
        fail(_order_message(numbers, name, "not repeat"))


def _order_message(numbers: _Numbers, name: str, what: str) -> str:
    dimensions = listed(getattr(numbers, name))
    if isinstance(numbers, GatherDimensionNumbers):
        return f"expects {name} to {what}, got: [{dimensions}]"
    return f"Expects {name} to {what}; got: [{dimensions}]."


def _require_within(numbers: _Numbers, name: str, limit: int, limit_name: str) -> None:
    for dimension in getattr(numbers, name):
        if not 0 <= dimension < limit:
            fail(
                f"Expects each element of {name} to be in range [0, {limit_name}) i.e. [0, {limit}). got: "
                f"{dimension}."
            )


def _require_index_vector(numbers: _Numbers, rank: int, indices: str) -> None:
    """The dimension of index vectors exists, or is one past the last."""
    dimension, limit = numbers.index_vector_dim, f"rank-of('{indices}')"
    if not 0 <= dimension <= rank:
        fail(f"Expects index_vector_dim to be in range [0, {limit}] i.e. [0, {rank}]. got: {dimension}.")


def _check_batching(
    n: _Numbers, dropped: str, batching: str, indices_name: str, operand: RankedTensor, indices: Sizes
) -> None:
    """Dropped and batching dimensions are in order and distinct; batching ones pair up with the indices'."""
    require_distinct(n, dropped, batching)
    for name in (dropped, batching):
        _require_order(n, name)
        _require_within(n, name, operand.rank, "rank-of('operand')")
    name, stop = f"{indices_name}_batching_dims", "" if isinstance(n, GatherDimensionNumbers) else "."
    dimensions: tuple[int, ...] = getattr(n, name)
    operand_dimensions: tuple[int, ...] = getattr(n, batching)
    _require_unique(n, name)
    _require_within(n, name, len(indices), f"rank-of('{indices_name}')")
    if n.index_vector_dim in dimensions:
        fail(f"expects {name} not to include index_vector_dim {n.index_vector_dim}{stop}")
    if len(operand_dimensions) != len(dimensions):
        fail(f"{batching} and {name} should have the same size{stop}")
    for index, (i, j) in enumerate(zip(operand_dimensions, dimensions, strict=True)):
        size, other = operand.sizes[i], indices[j]
        if not same_size(size, other):
            fail(
                f"{batching}[{index}] and {name}[{index}] must have compatible sizes, but got "
                f"{raw(size)} and {raw(other)}{stop}"
            )


def _check_coordinates(n: _Numbers, name: str, batching: str, operand: RankedTensor) -> None:
    """The dimensions that coordinates of indices stand for exist, and are not batched."""
    require_distinct(n, name, batching)
    _require_within(n, name, operand.rank, "rank-of('operand')")


# ---------------------------------------------------------------------- gather


def _check_gather(
    n: GatherDimensionNumbers, operand: RankedTensor, starts: RankedTensor, slice_rank: int
) -> None:
    """Each dimension of the operand is offset, collapsed or batched; index numbers fit the indices."""
    if operand.rank != len(n.offset_dims) + len(n.collapsed_slice_dims) + len(n.operand_batching_dims):
        fail(
            f"offset_dims size ({len(n.offset_dims)}) plus collapse_slice_dims size "
            f"({len(n.collapsed_slice_dims)}) plus operand_batching_dims size "
            f"({len(n.operand_batching_dims)}) is not equal to operand rank ({operand.rank})"
        )
    _require_index_vector(n, starts.rank, "start_indices")
    depth = 1 if n.index_vector_dim == starts.rank else starts.sizes[n.index_vector_dim]
    if depth is not None and depth != len(n.start_index_map):
        fail(
            f"start_index_map size ({len(n.start_index_map)}) is not equal to size of index dimension "
            f"({n.index_vector_dim}) of start_indices ({depth})"
        )
    _require_order(n, "offset_dims", is_distinct=True)
    batching = "operand_batching_dims"
    _check_batching(n, "collapsed_slice_dims", batching, "start_indices", operand, starts.sizes)
    _check_coordinates(n, "start_index_map", batching, operand)
    if slice_rank != operand.rank:
        fail(f"slice_sizes size ({slice_rank}) not equal to operand rank ({operand.rank})")


def _check_slice_sizes(n: GatherDimensionNumbers, operand: RankedTensor, sizes: Sequence[int]) -> None:
    for name in ("collapsed_slice_dims", "operand_batching_dims"):
        for dimension in getattr(n, name):
            if sizes[dimension] > 1:
                fail(
                    f"Expects that for each dim in {name}, slice_sizes[dim] should be <= 1, but got "
                    f"{sizes[dimension]}"
                )
    for index, (size, most) in enumerate(zip(sizes, operand.sizes, strict=True)):
        if size < 0 or (most is not None and size > most):
            fail(f"slice size ({size}) is out of bounds for operand dimension ({raw(most)}) at index {index}")


def _gathered(
    n: GatherDimensionNumbers, operand: RankedTensor, starts: RankedTensor, slices: Sizes
) -> RankedTensor:
    """The result: offset dimensions take the slices' sizes, the others those of the indices."""
    index_rank = starts.rank + (n.index_vector_dim == starts.rank)
    rank = len(n.offset_dims) + index_rank - 1
    _require_within(n, "offset_dims", rank, "implied-result-rank")
    dropped = {*n.collapsed_slice_dims, *n.operand_batching_dims}
    windows = iter([size for index, size in enumerate(slices) if index not in dropped])
    batch = iter([i for i in range(index_rank) if i != n.index_vector_dim])
    sizes: list[Size] = []
    bounds: list[Size] = []
    for index in range(rank):
        if index in n.offset_dims:
            sizes.append(next(windows, None))
            bounds.append(None)
        else:
            at = next(batch)
            sizes.append(starts.sizes[at])
            bounds.append(starts.bound(at))
    return RankedTensor(tuple(sizes), operand.element, tuple(bounds) if starts.bounds else ())


def infer_gather(view: View) -> Sequence[RankedTensor]:
    """A gather whose slices' sizes are an attribute."""
    operand, starts = view.operands
    numbers: GatherDimensionNumbers = view.value("dimension_numbers")
    sizes = view.integers("slice_sizes")
    _check_gather(numbers, operand, starts, len(sizes))
    _check_slice_sizes(numbers, operand, sizes)
    return (_gathered(numbers, operand, starts, sizes),)


def infer_dynamic_gather(view: View) -> Sequence[RankedTensor]:
    """A gather whose slices' sizes are an operand."""
    operand, starts, slices = view.operands
    numbers: GatherDimensionNumbers = view.value("dimension_numbers")
    require(slices.rank == 1, f"slice_sizes.rank != 1 (got {slices.rank})")
    _check_gather(numbers, operand, starts, slices.sizes[0] or 0)
    slice_sizes = view.constant(2)
    if slice_sizes is not None:
        _check_slice_sizes(numbers, operand, slice_sizes)
    return (_gathered(numbers, operand, starts, slice_sizes or (None,) * operand.rank),)


# ---------------------------------------------------------------------- scatter


def infer_scatter(view: View) -> Sequence[RankedTensor]:
    """The inputs' shapes, of the element types that the body returns."""
    inputs = view.group("inputs")
    elements = elements_of(view, 0, inputs)
    return [tensor.of(element) for tensor, element in zip(inputs, elements, strict=False)]


def check_scatter(view: View) -> None:
    """A scatter, in this order:

    - inputs of one shape, updates of one shape; the index dimension exists
    - the body reduces scalars of inputs and updates
    - dimension numbers as in `_check_numbers`
    - updates are no larger than windows of the inputs, and fit the indices
    """
    numbers: ScatterDimensionNumbers = view.value("scatter_dimension_numbers")
    inputs, updates = view.group("inputs"), view.group("updates")
    indices = view.group("scatter_indices")[0]
    for name, tensors in (("inputs", inputs), ("updates", updates)):
        if not all(tensors[0].is_shaped_as(tensor) for tensor in tensors):
            fail(f"Not all {name} have compatible shapes.")
    _require_index_vector(numbers, indices.rank, "scatter_indices")
    initial = [RankedTensor((), tensor.element) for tensor in updates]
    check_body(view.body(0), inputs, initial, ())
    expanded = indices.sizes + ((1,) if numbers.index_vector_dim == indices.rank else ())
    rank = len(expanded) - 1 + len(numbers.update_window_dims)
    for update in updates:
        if update.rank != rank:
            fail(
                f"expects updates tensor must be of rank {rank} ( == rank-of('scatter_indices') - 1 + "
                "size-of('update_window_dims'), where 'scatter_indices' is expanded by a trailing 1 "
                f"dimension if 'index_vector_dim' == rank-of('scatter_indices')), but got {update.rank}."
            )
    for operand, update in zip(inputs, updates, strict=True):
        _check_numbers(numbers, operand, expanded, update)
    for operand, update in zip(inputs, updates, strict=True):
        _check_updates(numbers, operand, expanded, update)


def _check_numbers(
    n: ScatterDimensionNumbers, operand: RankedTensor, indices: Sizes, update: RankedTensor
) -> None:
    """Each dimension of the operand is a window's, inserted or batched: all exist, in order, once."""
    count = len(n.update_window_dims) + len(n.inserted_window_dims) + len(n.input_batching_dims)
    if operand.rank != count:
        fail(
            "Expects rank-of operand to match size-of('update_window_dims') + "
            f"size-of('inserted_window_dims') + size-of('input_batching_dims') i.e. {count} but got "
            f"{operand.rank}."
        )
    _require_order(n, "update_window_dims", is_distinct=True)
    _require_within(n, "update_window_dims", update.rank, "rank-of('updates')")
    _check_batching(n, "inserted_window_dims", "input_batching_dims", "scatter_indices", operand, indices)
    depth = indices[n.index_vector_dim]
    if depth is not None and depth != len(n.scatter_dims_to_operand_dims):
        fail(
            f"Scatter op has {len(n.scatter_dims_to_operand_dims)} elements in scatter_dims_to_operand_dims "
            f"and the bound of dimension index_vector_dim={n.index_vector_dim} of scatter_indices is "
            f"{depth}. These two numbers must be equal."
        )
    _check_coordinates(n, "scatter_dims_to_operand_dims", "input_batching_dims", operand)


def _check_updates(
    n: ScatterDimensionNumbers, operand: RankedTensor, indices: Sizes, update: RankedTensor
) -> None:
    dropped = {*n.inserted_window_dims, *n.input_batching_dims}
    most = [size for index, size in enumerate(operand.sizes) if index not in dropped]
    for dimension, limit in zip(n.update_window_dims, most, strict=False):
        size = update.sizes[dimension]
        if size is not None and limit is not None and size > limit:
            fail(
                "expects bounds of the window dimensions of updates to not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {dimension}, updates bound is {size}, "
                f"operand bound is {limit}."
            )
    scattered = [size for index, size in enumerate(indices) if index != n.index_vector_dim]
    dimensions = [index for index in range(update.rank) if index not in n.update_window_dims]
    for dimension, limit in zip(dimensions, scattered, strict=False):
        size = update.sizes[dimension]
        if not same_size(size, limit):
            fail(
                "expects bounds of the scatter dimensions of updates to be same as the bounds of the "
                f"corresponding dimensions of scatter indices. For scatter dimension {dimension}, updates "
                f"bound is {raw(size)} , scatter_indices bound is {raw(limit)}."
            )
