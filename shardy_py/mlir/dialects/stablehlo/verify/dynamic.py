"""Rules of ops whose shapes are operands: constant shapes are compared with the types."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.mlir.dialects.stablehlo.verify import movement
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, listed, raw, require
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    is_float,
    is_unique,
    same_element,
    same_size,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import View


def _check_shape_operand(view: View, index: int) -> None:
    shape, result = view.constant(index), view.results[0]
    if shape is not None:
        given = RankedTensor(shape)
        fits = min(shape, default=0) >= 0 and given.is_shaped_as(result) and given.is_within(result)
        text = ", ".join(map(str, shape))
        require(fits, f"output shape [{text}] is incompatible with return type of operation {result}")


def _check_elements(operand: RankedTensor, result: RankedTensor) -> None:
    if not same_element(operand.element, result.element):
        fail(f"expects operand and result to have compatible element type. Got: {operand} and {result}")


def check_dynamic_reshape(view: View) -> None:
    """Elements stay, their number too; the shape operand has the result's rank."""
    operand, shape = view.operands
    result = view.results[0]
    _check_elements(operand, result)
    movement.require_count(operand, result)
    _check_shape_operand(view, 1)
    if shape.sizes[0] != result.rank:
        fail("result should have a rank equal to the number of elements in output_shape")
    known = view.constant(1)
    if operand.is_static and known is not None and operand.count != prod(known):
        fail(
            f"output_shape is incompatible with input type of operation: input has {operand.count} "
            f"elements, but output_shape has {prod(known)}"
        )


def check_dynamic_iota(view: View) -> None:
    """The result has the dimension along which it counts."""
    if view.integer("iota_dimension") >= view.results[0].rank:
        fail("iota dimension cannot go beyond the output rank.")
    _check_shape_operand(view, 0)


def check_dynamic_broadcast_in_dim(view: View) -> None:
    """As broadcast_in_dim; hints on dimensions that expand name each at most once."""
    operand, result = view.operands[0], view.results[0]
    dimensions = view.integers("broadcast_dimensions")
    _check_elements(operand, result)
    movement.require_broadcast_rank(view)
    if result.rank < operand.rank:
        fail(f"result rank ({result.rank}) is less than operand rank ({operand.rank})")
    movement.require_broadcast_sizes(
        view,
        lambda size, wanted: size == 1 or same_size(size, wanted),
        "is not compatible with size of result dimension",
    )
    _check_shape_operand(view, 1)
    hints = (*view.integers("known_expanding_dimensions"), *view.integers("known_nonexpanding_dimensions"))
    require(is_unique(hints), "duplicate expansion hint for at least one operand dimension")
    for hint in hints:
        if not 0 <= hint < operand.rank:
            fail(f"hint for expanding dimension {hint} does not refer to a valid operand dimension")
    sizes = view.constant(1)
    if sizes is not None and operand.is_static:
        for index, dimension in enumerate(dimensions):
            size = operand.sizes[index]
            if size not in (1, sizes[dimension]):
                fail(
                    f"size of operand dimension {index} ({raw(size)}) is not equal to 1 or value of shape at "
                    f"index {dimension} ({sizes[dimension]})"
                )


def check_dynamic_pad(view: View) -> None:
    """One entry a dimension; where all is known, the result has the padded sizes."""
    operand, result = view.operands[0], view.results[0]
    size = view.operands[2].sizes[0]
    if size != operand.rank:
        fail(f"padding operands size ({raw(size)}) must match operand rank ({operand.rank})")
    low, high, interior = (view.constant(index) for index in (2, 3, 4))
    if interior is not None and not all(value >= 0 for value in interior):
        fail(f"interior_padding must be non-negative, but got {listed(interior or ())}")
    if low is None or high is None or interior is None or not (operand.is_static and result.is_static):
        return
    for index, (size, *padding) in enumerate(zip(operand.sizes, low, high, interior, strict=True)):
        expected, given = movement.padded_size(size or 0, *padding), result.sizes[index]
        if given != expected:
            fail(f"expected output dimension at index {index} to equal {expected}, but got {given}")


def check_real_dynamic_slice(view: View) -> None:
    """One start, limit and stride a dimension."""
    rank = view.operands[0].rank
    for name, tensor in zip(("start_indices", "limit_indices", "strides"), view.operands[1:], strict=True):
        if tensor.sizes[0] != rank:
            fail(f"has mismatched number of operand rank ({rank}) and {name} size ({raw(tensor.sizes[0])})")


def infer_rng(view: View) -> Sequence[RankedTensor]:
    """A tensor of the shape operand, of the bounds' element; a normal distribution is of floats."""
    a, b, shape = view.operands
    if view.value("rng_distribution") != "UNIFORM":
        require(is_float(a.element) and is_float(b.element), "mu and sigma must be floats")
    sizes = view.constant(2)
    return (RankedTensor(sizes if sizes is not None else (None,) * (shape.sizes[0] or 0), b.element),)
