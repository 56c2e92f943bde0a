"""The components of an index vector: which of them count along dimension 0, and what is left without one.

A gather's or scatter's indices are vectors along one dimension. A component that holds, at position i of
dimension 0, the number i makes that dimension a batch dimension in disguise; `counts_rows` proves it.
Not here: what is done with such ops (`passes/explicit_gather_scatter_batching.py`).
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, Signedness, TensorType, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.plain import plain
from shardy_py.ir import build_operation, operands_of, place_before

CONSTANTS = {"stablehlo.constant", "sdy.constant"}


def counts_rows(indices: SSAValue, vector_dimension: int, component: int) -> bool:
    """Whether that component of the index vectors is i wherever dimension 0 is i, whatever the input."""
    maker = _maker(indices)
    if maker is not None and maker.name == "stablehlo.concatenate":
        part = _part(maker, vector_dimension, component)
        return part is not None and _counts_rows(part)
    return _counts_rows(indices)


def without_component(op: Operation, indices: SSAValue, vector_dimension: int, component: int) -> SSAValue:
    """The index vectors without that component, of ops put before `op`."""
    total = shape_of(indices)[vector_dimension]
    maker = _maker(indices)
    if maker is not None and _joins_components(maker, vector_dimension, total):
        kept = [value for number, value in enumerate(operands_of(maker)) if number != component]
    else:
        kept = [
            _slice(op, indices, vector_dimension, start, stop)
            for start, stop in ((0, component), (component + 1, total))
            if start < stop
        ]
    if len(kept) == 1:
        return kept[0]
    shape = [size - (d == vector_dimension) for d, size in enumerate(shape_of(indices))]
    properties: dict[str, Attribute] = {"dimension": IntegerAttr(vector_dimension, i64)}
    return _insert(op, "concatenate", kept, _like(indices, shape), properties)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor; negative: dynamic."""
    return tuple(cast("TensorType[Attribute]", value.type).get_shape())


def _counts_rows(value: SSAValue) -> bool:
    """Whether dimension 0 numbers the rows of `value`: found on the way back to an iota, row by row."""
    while (maker := _maker(value)) is not None:
        if maker.name == "stablehlo.iota":
            return plain(maker.properties["iota_dimension"]) == 0 and _can_count(value)
        source = _source(maker)
        if source is None or not shape_of(source) or shape_of(source)[:1] != shape_of(value)[:1]:
            return False
        value = source
    return False


def _can_count(value: SSAValue) -> bool:
    """Whether the element type has a number for every row."""
    element = cast("TensorType[Attribute]", value.type).element_type
    if not isinstance(element, IntegerType):
        return False
    integer = cast(Any, element)
    bits: int = integer.width.data - (integer.signedness.data is not Signedness.UNSIGNED)
    return shape_of(value)[0] <= 2**bits


def _source(op: Operation) -> SSAValue | None:
    """The operand whose rows are those of the result, if one is."""
    if op.name == "stablehlo.reshape":
        return operands_of(op)[0]
    if op.name == "stablehlo.broadcast_in_dim":
        dimensions = plain(op.properties["broadcast_dimensions"])
        return operands_of(op)[0] if dimensions[:1] == (0,) else None
    if op.name == "stablehlo.clamp":
        low, value, high = operands_of(op)
        lowest, highest = _splat(low), _splat(high)
        rows = shape_of(value)[:1]
        stays = lowest is not None and highest is not None and rows and lowest <= 0 and highest >= rows[0] - 1
        return value if stays else None
    if op.name == "stablehlo.select":
        predicate, _, otherwise = operands_of(op)
        return otherwise if _is_negative_row(predicate) else None
    return None


def _is_negative_row(predicate: SSAValue) -> bool:
    """Whether `predicate` asks if a row number is below 0, as indexing from the end does: it never is."""
    maker = _maker(predicate)
    if maker is None or maker.name != "stablehlo.compare":
        return False
    left, right = operands_of(maker)
    return (
        plain(maker.properties["comparison_direction"]) == "LT" and _splat(right) == 0 and _counts_rows(left)
    )


def _splat(value: SSAValue) -> int | None:
    """The one integer that all elements are."""
    while (maker := _maker(value)) is not None:
        if maker.name in CONSTANTS:
            attribute = cast(Any, maker.properties["value"])
            if not attribute.is_splat():
                return None
            number = next(iter(attribute.get_values()))
            return number if isinstance(number, int) else None
        if maker.name not in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            return None
        value = operands_of(maker)[0]
    return None


def _part(op: Operation, vector_dimension: int, component: int) -> SSAValue | None:
    """The operand of a concatenation that is that component alone."""
    if plain(op.properties["dimension"]) != vector_dimension:
        return None
    start = 0
    for operand in operands_of(op):
        size = shape_of(operand)[vector_dimension]
        if start == component:
            return operand if size == 1 else None
        start += size
    return None


def _joins_components(op: Operation, vector_dimension: int, total: int) -> bool:
    return (
        op.name == "stablehlo.concatenate"
        and plain(op.properties["dimension"]) == vector_dimension
        and len(operands_of(op)) == total
    )


def _slice(op: Operation, indices: SSAValue, dimension: int, start: int, stop: int) -> SSAValue:
    shape = shape_of(indices)
    starts = [start if d == dimension else 0 for d in range(len(shape))]
    limits = [stop if d == dimension else size for d, size in enumerate(shape)]
    properties: dict[str, Attribute] = {
        "start_indices": DenseArrayBase.from_list(i64, starts),
        "limit_indices": DenseArrayBase.from_list(i64, limits),
        "strides": DenseArrayBase.from_list(i64, [1] * len(shape)),
    }
    sizes = [limit - first for first, limit in zip(starts, limits, strict=True)]
    return _insert(op, "slice", [indices], _like(indices, sizes), properties)


def _like(value: SSAValue, shape: list[int]) -> Attribute:
    return TensorType(cast("TensorType[Attribute]", value.type).element_type, shape)


def _insert(
    before: Operation,
    name: str,
    operands: list[SSAValue],
    result_type: Attribute,
    properties: dict[str, Attribute],
) -> SSAValue:
    made = build_operation(op_class(name), operands, [result_type], properties, {}, before.location)
    place_before(made, before)
    return made.results[0]


def _maker(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) else None
