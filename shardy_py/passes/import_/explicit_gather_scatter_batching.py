"""`sdy-explicit-gather-scatter-batching`: makes implicit batch dimensions of gathers and scatters explicit.

The indices of a gather or scatter are vectors along one dimension. If the component that selects dimension 0
holds, at position i of dimension 0, the number i, then dimension 0 is an implicit batch dimension.
Propagation replicates indexed dimensions, but not batch dimensions. Ops are rewritten only if this is proved.

    before  %i = iota   %v = concatenate %i, %j   gather %a, %v  collapsed_slice_dims = [0, 1]
    after   gather %a, %j  collapsed_slice_dims = [1], operand_batching_dims = [0], ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.ir import build_operation, operands_of, place_before, replace_operand
from shardy_py.mlir.movements import replace_op
from shardy_py.mlir.plain import plain
from shardy_py.mlir.typed import element_type_of, property_of
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
    property="dimension_numbers",
    index_map="start_index_map",
    dropped="collapsed_slice_dims",
    batching="operand_batching_dims",
    indices_batching="start_indices_batching_dims",
)
SCATTER = Fields(
    property="scatter_dimension_numbers",
    index_map="scatter_dims_to_operand_dims",
    dropped="inserted_window_dims",
    batching="input_batching_dims",
    indices_batching="scatter_indices_batching_dims",
)


def explicit_gather_scatter_batching(module: builtin.ModuleOp) -> None:
    """Makes implicit batch dimensions of gathers and scatters explicit."""
    apply_rewrites(module, REWRITES)


def make_explicit(op: Operation, fields: Fields) -> bool:
    """Rewrites `op` if dimension 0 of its first operand is an implicit batch dimension; returns whether."""
    numbers = cast(Any, op.properties[fields.property])
    position = len(op.operands) // 2  # after the operands: one of a gather, half of the others of a scatter
    indices = op.operands[position]
    component = _row_component(numbers.data, op.operands[0], indices, fields)
    if component is None:
        return False
    shared = (fields.index_map, fields.dropped)
    changes = {name: tuple(d for d in getattr(numbers.data, name) if d) for name in shared}
    changes |= {fields.batching: (0,), fields.indices_batching: (0,)}
    batched = replace(numbers.data, **changes)
    fewer = without_component(op, indices, numbers.data.index_vector_dim, component)
    new = clone(op, {})
    replace_operand(new, position, fewer)
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


REWRITES: tuple[Rewrite, ...] = (
    *FOLDS,
    Rewrite(op_class("gather"), partial(make_explicit, fields=GATHER)),
    Rewrite(op_class("scatter"), partial(make_explicit, fields=SCATTER)),
)


def counts_rows(indices: SSAValue, vector_dimension: int, component: int) -> bool:
    """Returns whether a component of the index vectors provably equals the position along dimension 0."""
    producer = _producer(indices)
    if not isinstance(producer, Concatenate):
        return _counts_rows(indices)
    start, is_along = 0, plain(producer.properties["dimension"]) == vector_dimension
    for operand in operands_of(producer) if is_along else ():
        size = shape_of(operand)[vector_dimension]
        if start == component:
            return size == 1 and _counts_rows(operand)
        start += size
    return False


def without_component(op: Operation, indices: SSAValue, vector_dimension: int, component: int) -> SSAValue:
    """The index vectors without a component, computed by ops placed before `op`."""
    total = shape_of(indices)[vector_dimension]
    producer = _producer(indices)
    is_joined = isinstance(producer, Concatenate) and len(operands_of(producer)) == total
    if producer is not None and is_joined and plain(producer.properties["dimension"]) == vector_dimension:
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
    return _insert(
        op, "concatenate", kept, shape, {"dimension": builtin.IntegerAttr(vector_dimension, builtin.i64)}
    )


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor; negative: dynamic."""
    return tuple(cast("builtin.TensorType[Attribute]", value.type).get_shape())


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
    element = element_type_of(value.type)
    if not isinstance(element, builtin.IntegerType):
        return False
    integer = cast(Any, element)
    bits: int = integer.width.data - (integer.signedness.data is not builtin.Signedness.UNSIGNED)
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
    is_less = plain(producer.properties["comparison_direction"]) == "LT"
    return is_less and _splat(right) == 0 and _counts_rows(left)


def _splat(value: SSAValue) -> int | None:
    while (producer := _producer(value)) is not None:
        if is_constant(producer):
            attribute = property_of(producer, "value", builtin.DenseIntOrFPElementsAttr)
            if not attribute.is_splat():
                return None
            number = next(iter(attribute.get_values()))
            return number if isinstance(number, int) else None
        if not isinstance(producer, (Broadcast, Reshape)):
            return None
        value = operands_of(producer)[0]
    return None


def _slice(op: Operation, indices: SSAValue, dimension: int, start: int, stop: int) -> SSAValue:
    shape = shape_of(indices)
    starts = [start if d == dimension else 0 for d in range(len(shape))]
    limits = [stop if d == dimension else size for d, size in enumerate(shape)]
    bounds = {"start_indices": starts, "limit_indices": limits, "strides": [1] * len(shape)}
    properties = {
        name: builtin.DenseArrayBase.from_list(builtin.i64, values) for name, values in bounds.items()
    }
    sizes = [limit - first for first, limit in zip(starts, limits, strict=True)]
    return _insert(op, "slice", [indices], sizes, properties)


def _insert(
    before: Operation,
    name: str,
    operands: list[SSAValue],
    shape: list[int],
    properties: Mapping[str, Attribute],
) -> SSAValue:
    type_ = builtin.TensorType(cast("builtin.TensorType[Attribute]", operands[0].type).element_type, shape)
    made = build_operation(op_class(name), operands, [type_], dict(properties), {}, before.location)
    place_before(made, before)
    return made.results[0]


def _producer(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) else None
