"""Simplifications that a program goes through where XLA reads it back from HLO, and that shardings can tell.

| before | after |
|---|---|
| `dynamic_slice` at constants | `slice` |
| `broadcast_in_dim` that adds dimensions of size 1 | `reshape` |
| a value that a loop only carries along | a value from outside of the loop |

Not here: the steps around them (`xla.py`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue

from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.rewiring import erase, place_before, replace_op, replace_uses
from shardy_py.graph.walk import find_ops, innermost_first, terminator_of
from shardy_py.text.construct import build_operation
from shardy_py.text.dense import elements_type, load_integer
from shardy_py.text.type_tests import is_integer

BROADCAST, CONSTANT = "stablehlo.broadcast_in_dim", "stablehlo.constant"
DYNAMIC_SLICE, WHILE = "stablehlo.dynamic_slice", "stablehlo.while"


def slice_at_constants(module: ModuleOp) -> None:
    """Make slices of dynamic slices whose start is known; the start is moved so that all is inside."""
    for op in find_ops(module, DYNAMIC_SLICE):
        starts = [_constant(value) for value in op._operands[1:]]
        source, result = tensor_type(op._operands[0]._type), tensor_type(op.results[0]._type)
        if None in starts or source is None or result is None or None in (*source.shape, *result.shape):
            continue
        sizes = cast("tuple[int, ...]", result.shape)
        room = (
            whole - part for whole, part in zip(cast("tuple[int, ...]", source.shape), sizes, strict=True)
        )
        first = [
            min(max(start, 0), most) for start, most in zip(cast("list[int]", starts), room, strict=True)
        ]
        properties: dict[str, Attribute] = {
            "start_indices": _integers(first),
            "limit_indices": _integers([start + size for start, size in zip(first, sizes, strict=True)]),
            "strides": _integers([1] * len(first)),
        }
        attributes = dict(op.attributes)
        types = [op.results[0]._type]
        location = cast(Any, op).location
        cut = build_operation(op_class("slice"), op._operands[:1], types, properties, attributes, location)
        replace_op(op, cut)


def _constant(value: SSAValue) -> int | None:
    """The integer that a scalar constant holds."""
    maker = value.owner
    if not isinstance(maker, Operation) or maker.name != CONSTANT:
        return None
    dense = maker.properties["value"]
    if not isinstance(dense, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[Any]", dense)
    element = elements_type(dense)[1]
    return load_integer(dense.data.data, element) if is_integer(element) else None


def _integers(values: list[int]) -> Attribute:
    return cast(Attribute, DenseArrayBase.from_list(i64, values))


def reshape_broadcasts(module: ModuleOp) -> None:
    """Make reshapes of broadcasts that only add dimensions of size 1; those that add nothing go."""
    for op in find_ops(module, BROADCAST):
        source, result = tensor_type(op._operands[0]._type), tensor_type(op.results[0]._type)
        dimensions: tuple[int, ...] = plain(op.properties["broadcast_dimensions"])
        if source is None or result is None or None in (*source.shape, *result.shape):
            continue
        is_ordered = dimensions == tuple(sorted(dimensions))
        if not is_ordered or prod(cast("Any", source.shape)) != prod(cast("Any", result.shape)):
            continue
        if source.shape == result.shape:
            replace_uses(op.results[0], op._operands[0])
            erase(op)
        else:
            types, location = [op.results[0]._type], cast(Any, op).location
            attributes = dict(op.attributes)
            made = build_operation(op_class("reshape"), op._operands, types, {}, attributes, location)
            replace_op(op, made)


def free_loop_values(module: ModuleOp) -> None:
    """Take out of each loop what every turn hands on unchanged: it is used from outside instead."""
    for loop in innermost_first(find_ops(module, WHILE)):
        end = terminator_of(loop.regions[1])
        arguments = loop.regions[1].blocks[0].args
        if end is None or SHARDING in loop.attributes:
            continue
        kept = [index for index, value in enumerate(end._operands) if value is not arguments[index]]
        if 0 < len(kept) < len(arguments):
            _keep(loop, end, kept)


def _keep(loop: Operation, end: Operation, kept: list[int]) -> None:
    """Let a loop carry these of its values only."""
    replace_op(end, _with_operands(end, kept, ()))
    regions = tuple(loop.detach_region(0) for _ in (0, 1))
    made = _with_operands(loop, kept, [loop.results[index]._type for index in kept], regions)
    place_before(made, loop)
    places = {index: place for place, index in enumerate(kept)}
    for index in reversed(range(len(loop.results))):
        outside = loop._operands[index]
        stays = index in places
        replace_uses(loop.results[index], made.results[places[index]] if stays else outside)
        for block in () if stays else (region.blocks[0] for region in regions):
            replace_uses(block.args[index], outside)
            block.erase_arg(block.args[index])
    erase(loop)


def _with_operands(
    op: Operation, kept: list[int], types: Sequence[Attribute], regions: Sequence[Region] = ()
) -> Operation:
    operands = [op._operands[index] for index in kept]
    location = cast(Any, op).location
    return build_operation(
        op.__class__, operands, types, dict(op.properties), dict(op.attributes), location, regions=regions
    )
