"""`sdy-explicit-gather-scatter-batching`: makes implicit batch dimensions of gathers and scatters explicit.

The indices of a gather or scatter are vectors along one dimension. If the component that selects dimension 0
holds, at position i of dimension 0, the number i, then dimension 0 is an implicit batch dimension.
Propagation replicates indexed dimensions, but not batch dimensions. Ops are rewritten only if this is proved.

    before  %i = iota   %v = concatenate %i, %j   gather %a, %v  collapsed_slice_dims = [0, 1]
    after   gather %a, %j  collapsed_slice_dims = [1], operand_batching_dims = [0], ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects.stablehlo import op_class
from shardy_py.dialects.traits import is_constant
from shardy_py.graph.cloning import clone
from shardy_py.graph.movements import replace_op
from shardy_py.graph.plain import plain
from shardy_py.ir import build_operation, operands_of, place_before, replace_operand
from shardy_py.passes.rewrites import FOLDS, Rewrite, apply_rewrites

Iota, Concatenate, Reshape, Broadcast, Clamp, Select, Compare = map(
    op_class, ("iota", "concatenate", "reshape", "broadcast_in_dim", "clamp", "select", "compare")
)


@dataclass(frozen=True, slots=True)
class Fields:
    """The names that gather and scatter have for the same parts of their dimension numbers."""

    property: str
    index_map: str
    dropped: str
    batching: str
    indices_batching: str


GATHER = Fields(
    "dimension_numbers",
    "start_index_map",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
SCATTER = Fields(
    "scatter_dimension_numbers",
    "scatter_dims_to_operand_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)


def explicit_gather_scatter_batching(module: ModuleOp) -> None:
    """Makes implicit batch dimensions of gathers and scatters explicit."""
    apply_rewrites(module, REWRITES)


def make_explicit(op: Operation, fields: Fields) -> bool:
    """Rewrites `op` if dimension 0 of its first operand is an implicit batch dimension; returns whether."""
    numbers = cast(Any, op.properties[fields.property])
    indices = op.operands[_indices_position(op)]
    component = _row_component(numbers.data, op.operands[0], indices, fields)
    if component is None:
        return False
    batched = replace(
        numbers.data,
        **{
            fields.index_map: _without_zero(getattr(numbers.data, fields.index_map)),
            fields.dropped: _without_zero(getattr(numbers.data, fields.dropped)),
            fields.batching: (0,),
            fields.indices_batching: (0,),
        },
    )
    fewer = without_component(op, indices, numbers.data.index_vector_dim, component)
    new = clone(op, {})
    replace_operand(new, _indices_position(op), fewer)
    new.properties[fields.property] = type(numbers)(batched)
    replace_op(op, new)
    return True


def _row_component(numbers: Any, operand: SSAValue, indices: SSAValue, fields: Fields) -> int | None:
    """The component of the indices that selects dimension 0 of `operand`, if it is the row number."""
    index_map: tuple[int, ...] = getattr(numbers, fields.index_map)
    vector_dimension: int = numbers.index_vector_dim
    shape, rows = shape_of(indices), shape_of(operand)[:1]
    if (
        getattr(numbers, fields.batching)
        or 0 not in index_map
        or 0 not in getattr(numbers, fields.dropped)
        or not 0 < vector_dimension < len(shape)
        or shape[vector_dimension] <= 1
        or shape[:1] != rows
    ):
        return None
    component = index_map.index(0)
    return component if counts_rows(indices, vector_dimension, component) else None


def _indices_position(op: Operation) -> int:
    """Indices follow the operands: one of a gather, one half of a scatter's other operands."""
    return len(op.operands) // 2


def _without_zero(dimensions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dimension for dimension in dimensions if dimension)


REWRITES: tuple[Rewrite, ...] = (
    *FOLDS,
    Rewrite(op_class("gather"), partial(make_explicit, fields=GATHER)),
    Rewrite(op_class("scatter"), partial(make_explicit, fields=SCATTER)),
)


def counts_rows(indices: SSAValue, vector_dimension: int, component: int) -> bool:
    """Returns whether a component of the index vectors provably equals the position along dimension 0."""
    producer = _producer(indices)
    if isinstance(producer, Concatenate):
        part = _part(producer, vector_dimension, component)
        return part is not None and _counts_rows(part)
    return _counts_rows(indices)


def without_component(op: Operation, indices: SSAValue, vector_dimension: int, component: int) -> SSAValue:
    """The index vectors without a component, computed by ops placed before `op`."""
    total = shape_of(indices)[vector_dimension]
    producer = _producer(indices)
    if producer is not None and _joins_components(producer, vector_dimension, total):
        kept = [value for number, value in enumerate(operands_of(producer)) if number != component]
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
    """Returns whether each row of `value` holds its number, traced to an iota through ops that keep rows."""
    while (producer := _producer(value)) is not None:
        if isinstance(producer, Iota):
            return plain(producer.properties["iota_dimension"]) == 0 and _can_count(value)
        source = _source(producer)
        if source is None or not shape_of(source) or shape_of(source)[:1] != shape_of(value)[:1]:
            return False
        value = source
    return False


def _can_count(value: SSAValue) -> bool:
    """Returns whether the element type can represent every row number."""
    element = cast("TensorType[Attribute]", value.type).element_type
    if not isinstance(element, IntegerType):
        return False
    integer = cast(Any, element)
    bits: int = integer.width.data - (integer.signedness.data is not Signedness.UNSIGNED)
    return shape_of(value)[0] <= 2**bits


def _source(op: Operation) -> SSAValue | None:
    """The operand whose rows are those of the result, if one is."""
    if isinstance(op, Reshape):
        return operands_of(op)[0]
    if isinstance(op, Broadcast):
        dimensions = plain(op.properties["broadcast_dimensions"])
        return operands_of(op)[0] if dimensions[:1] == (0,) else None
    if isinstance(op, Clamp):
        low, value, high = operands_of(op)
        lowest, highest = _splat(low), _splat(high)
        rows = shape_of(value)[:1]
        stays = lowest is not None and highest is not None and rows and lowest <= 0 and highest >= rows[0] - 1
        return value if stays else None
    if isinstance(op, Select):
        predicate, _, otherwise = operands_of(op)
        return otherwise if _is_negative_row(predicate) else None
    return None


def _is_negative_row(predicate: SSAValue) -> bool:
    """Returns whether `predicate` is `row number < 0`, as in indexing from the end; it is always false."""
    producer = _producer(predicate)
    if not isinstance(producer, Compare):
        return False
    left, right = operands_of(producer)
    return (
        plain(producer.properties["comparison_direction"]) == "LT"
        and _splat(right) == 0
        and _counts_rows(left)
    )


def _splat(value: SSAValue) -> int | None:
    """The integer that all elements equal, or None."""
    while (producer := _producer(value)) is not None:
        if is_constant(producer):
            attribute = cast(Any, producer.properties["value"])
            if not attribute.is_splat():
                return None
            number = next(iter(attribute.get_values()))
            return number if isinstance(number, int) else None
        if not isinstance(producer, (Broadcast, Reshape)):
            return None
        value = operands_of(producer)[0]
    return None


def _part(op: Operation, vector_dimension: int, component: int) -> SSAValue | None:
    """The operand of a concatenation that is exactly one component, or None."""
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
        isinstance(op, Concatenate)
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


def _producer(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) else None
