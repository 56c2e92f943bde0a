"""Ops with regions, given as Python functions of tensors: loops, branches, reductions, sorts, scatters.

    total = reduce((x,), (0.0,), (1,), lambda a, b: (a + b,))
    i, y = while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, y * 2.0), (zero, x))

Not here: calls of functions and manual computations (`build.py`, `shardings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import ml_dtypes
import numpy as np

from shardy_py.base.arrays import float_limits
from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder.bodies import Body, region
from shardy_py.frontends.builder.broadcasting import Dimensions, constant_value
from shardy_py.frontends.builder.broadcasting import dimensions as from_front
from shardy_py.frontends.builder.tensor import Operand, Tensor, elementwise, emit, rank_of, value_of
from shardy_py.frontends.builder.types import RankedTensorType, dtype_of
from shardy_py.mlir.dialects.stablehlo.structs import ScatterDimensionNumbers


def while_loop(cond: Body, body: Body, init: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`stablehlo.while`: `body` while `cond` returns true."""
    types = [value_of(tensor).type for tensor in init]
    return emit("while", *init, regions=(region(cond, types), region(body, types)))


def if_(pred: Tensor, true_branch: Body, false_branch: Body) -> tuple[Tensor, ...]:
    """`stablehlo.if`: one of two branches without arguments."""
    return emit("if", pred, regions=(region(true_branch, ()), region(false_branch, ())))


def case(index: Tensor, *branches: Body) -> tuple[Tensor, ...]:
    """`stablehlo.case`: the branch of that number; the last one if out of range."""
    return emit("case", index, regions=[region(branch, ()) for branch in branches])


def reduce(
    inputs: Sequence[Tensor], init_values: Sequence[Operand], dimensions: Dimensions, body: Body
) -> tuple[Tensor, ...]:
    """`stablehlo.reduce`: `body` of two elements of each input, over dimensions; None: all."""
    numbers = from_front(dimensions, rank_of(inputs[0]) if inputs else 0)
    starts = _scalars(inputs, init_values)
    types = [start.type for start in starts]
    return emit("reduce", *inputs, *starts, dimensions=numbers, regions=(region(body, [*types, *types]),))


def reduce_sum(operand: Tensor, dimensions: Dimensions = None) -> Tensor:
    """The sum over dimensions; None: all."""
    return reduce((operand,), (0,), dimensions, partial(elementwise, "add"))[0]


def reduce_max(operand: Tensor, dimensions: Dimensions = None) -> Tensor:
    """The maximum over dimensions; None: all."""
    start = bounds(operand.element_type)[0]
    return reduce((operand,), (start,), dimensions, partial(elementwise, "maximum"))[0]


def reduce_min(operand: Tensor, dimensions: Dimensions = None) -> Tensor:
    """The minimum over dimensions; None: all."""
    start = bounds(operand.element_type)[1]
    return reduce((operand,), (start,), dimensions, partial(elementwise, "minimum"))[0]


def reduce_prod(operand: Tensor, dimensions: Dimensions = None) -> Tensor:
    """The product over dimensions; None: all."""
    return reduce((operand,), (1,), dimensions, partial(elementwise, "multiply"))[0]


def bounds(element_type: str) -> tuple[float, float]:
    """The smallest and the largest value of an element type: the initial values of maxima and minima.

    Raises `ShardyError` for a type without an order.

    >>> bounds("i4"), bounds("f32")
    ((-8, 7), (-inf, inf))
    """
    dtype = dtype_of(element_type)
    if element_type.startswith("complex"):
        raise ShardyError(f"elements of {element_type} have no order; maxima and minima are undefined")
    if element_type == "i1":
        return False, True
    if element_type[0] in "iu":
        whole = ml_dtypes.iinfo(dtype)
        return int(whole.min), int(whole.max)
    limits = float_limits(dtype)
    with np.errstate(all="ignore"):
        ends = [float(np.asarray(end).astype(dtype)) for end in (-np.inf, np.inf)]
    lowest, highest = float(limits.min), float(limits.max)
    return ends[0] if np.isinf(ends[0]) else lowest, ends[1] if np.isinf(ends[1]) else highest


def reduce_window(
    inputs: Sequence[Tensor],
    init_values: Sequence[Operand],
    body: Body,
    window_dimensions: Sequence[int],
    *,
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
) -> tuple[Tensor, ...]:
    """`stablehlo.reduce_window`: `body` over windows, as in pooling."""
    starts = _scalars(inputs, init_values)
    types = [start.type for start in starts]
    return emit(
        "reduce_window",
        *inputs,
        *starts,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        base_dilations=base_dilations,
        window_dilations=window_dilations,
        padding=padding,
        regions=(region(body, [*types, *types]),),
    )


def select_and_scatter(
    operand: Tensor,
    source: Tensor,
    init_value: Operand,
    select: Body,
    scatter: Body,
    *,
    window_dimensions: Sequence[int] | None = None,
    window_strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
) -> Tensor:
    """`stablehlo.select_and_scatter`: `scatter` combines each source element where `select` chose."""
    (start,) = _scalars((operand,), (init_value,))
    types = [start.type, start.type]
    return emit(
        "select_and_scatter",
        operand,
        source,
        start,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        padding=padding,
        regions=(region(select, types), region(scatter, types)),
    )[0]


def sort(
    inputs: Sequence[Tensor], comparator: Body | None = None, *, dimension: int = -1, is_stable: bool = False
) -> tuple[Tensor, ...]:
    """`stablehlo.sort`; `comparator` returns whether the first of two elements (of each input) comes first.

    comparator: None: ascending by the first input.
    """
    types = [type_ for type_ in _elements(inputs) for _ in range(2)]
    if inputs:
        (dimension,) = from_front(dimension, rank_of(inputs[0]))
    body = region(comparator or _comes_first, types)
    return emit("sort", *inputs, dimension=dimension, is_stable=is_stable, regions=(body,))


def _comes_first(first: Tensor, second: Tensor, *others: Tensor) -> Tensor:
    return first < second


def scatter(
    inputs: Sequence[Tensor],
    scatter_indices: Tensor,
    updates: Sequence[Tensor],
    dimension_numbers: ScatterDimensionNumbers | Mapping[str, object],
    body: Body,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> tuple[Tensor, ...]:
    """`stablehlo.scatter`: `body` combines old and new elements at indices."""
    types = _elements(inputs)
    return emit(
        "scatter",
        *inputs,
        scatter_indices,
        *updates,
        scatter_dimension_numbers=dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        regions=(region(body, [*types, *types]),),
    )


def map_(inputs: Sequence[Tensor], body: Body) -> Tensor:
    """`stablehlo.map`: `body` of one element of each input."""
    types = _elements(inputs)
    dimensions = range(rank_of(inputs[0])) if inputs else ()
    return emit("map", *inputs, dimensions=dimensions, regions=(region(body, types),))[0]


def _elements(inputs: Sequence[Tensor]) -> list[RankedTensorType]:
    """The types of single elements of the inputs."""
    return [RankedTensorType((), Tensor(value_of(tensor)).element_type) for tensor in inputs]


def _scalars(inputs: Sequence[Tensor], init_values: Sequence[Operand]) -> list[Tensor]:
    """The initial values; numbers become constants of the inputs' element types."""
    if len(inputs) != len(init_values):
        raise ShardyError.unexpected(
            "", expected=f"an init value for each of {len(inputs)} inputs", got=f"{len(init_values)}"
        )
    return [
        start if isinstance(start, Tensor) else Tensor(constant_value(start, type_.element_type, ()))
        for type_, start in zip(_elements(inputs), init_values, strict=True)
    ]
