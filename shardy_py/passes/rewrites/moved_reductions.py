"""A rewrite of products: an operand is resharded if that takes less than the sum of the terms of devices.

    before  %a = sdy.reshard %w <@mesh, [{"x"}, {}]>                          %w is whole on each device
            %0 = stablehlo.dot %lhs, %a           lhs [{}, {"x"}]             terms of a sum along "x"
            %1 = sdy.all_reduce {"x"} %0
            %2 = sdy.reshard %1 <@mesh, [{"x"}, {}]>
    after   %b = sdy.reshard %lhs <@mesh, [{"x"}, {}]>
            %2 = stablehlo.dot %b, %w

XLA's partitioner chooses by bytes too. Not here: other reshards (`reshards.py`).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.sdy import AllReduceOp, ReshardOp, TensorShardingAttr
from shardy_py.mlir.holders import write_only_results
from shardy_py.mlir.ir import build_operation, erase, operands_of, place_before, type_of
from shardy_py.mlir.movements import note_moved, replace_by_values
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import meshes_of, module_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.export.communication_ops import sizes_of
from shardy_py.propagation.rules import rule_of
from shardy_py.sharding import Axes, DimensionSharding, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import mesh_of

LABEL = "sdy-moved-reduction"


def move_reduction(op: Operation) -> bool:
    """Computes parts of a result instead of terms of all of it; `op` reshards the sum."""
    reduce = _made_by(operands_of(op)[0], AllReduceOp)
    product = None if reduce is None else _made_by(operands_of(reduce)[0], Operation)
    if reduce is None or product is None or len(product.results) != 1 or len(operands_of(product)) != 2:
        return False
    rule = rule_of(record_of(product))
    if rule is None or rule.is_custom:
        return False
    axes: Axes = plain(reduce.properties["reduction_axes"])
    reader = ShardingReader()
    old, wanted = reader.of(operands_of(reduce)[0]), _target(op)
    dimension = None if old is None else _sharded_since(old, wanted, axes)
    if dimension is None or len(rule.results[0][dimension]) != 1:
        return False
    (factor,) = rule.results[0][dimension]
    for moved, other in ((0, 1), (1, 0)):
        places = _places(rule, moved, factor), _places(rule, other, factor)
        source = _whole_source(operands_of(product)[other], axes, reader)
        sharding = reader.of(operands_of(product)[moved])
        if len(places[0]) != 1 or places[1] or source is None or sharding is None:
            continue
        target = _with_axes_at(sharding, axes, places[0][0])
        if target is None or not _is_less(op, operands_of(product)[moved], sharding, wanted, axes):
            continue
        properties: dict[str, Attribute] = {"sharding": TensorShardingAttr(target)}
        operand = operands_of(product)[moved]
        reshard = build_operation(ReshardOp, (operand,), (type_of(operand),), properties, {}, op.location)
        place_before(reshard, op)
        mapping: dict[SSAValue, SSAValue] = {operand: reshard.results[0], operands_of(product)[other]: source}
        made = clone(product, mapping)
        write_only_results([(made, wanted)])
        place_before(made, op)
        note_moved(reshard.results, (operands_of(product)[other],), "canonicalize")
        replace_by_values(op, made.results)
        for unused in (reduce, product):
            erase(unused)
        return True
    return False


def _made_by(value: SSAValue, kind: type[Operation]) -> Operation | None:
    """The op of that class that makes a value for one user."""
    is_made = isinstance(value, OpResult) and isinstance(value.op, kind) and value.has_one_use()
    return value.op if is_made and isinstance(value, OpResult) else None


def _target(op: Operation) -> TensorSharding:
    return plain(op.properties["sharding"])


def _sharded_since(old: TensorSharding, new: TensorSharding, axes: Axes) -> int | None:
    """The dimension that axes were added to, if nothing else changed."""
    pairs = zip(old.dimensions, new.dimensions, strict=True)
    changed = [number for number, (one, other) in enumerate(pairs) if one.axes != other.axes]
    if len(changed) != 1 or old.mesh != new.mesh or old.unreduced_axes or new.unreduced_axes:
        return None
    (dimension,) = changed
    is_added = new.dimensions[dimension].axes == (*old.dimensions[dimension].axes, *axes)
    return dimension if is_added else None


def _places(rule: ShardingRule, operand: int, factor: int) -> list[int]:
    """The dimensions of an operand that have a factor."""
    return [number for number, factors in enumerate(rule.operands[operand]) if factor in factors]


def _without_axes(sharding: TensorSharding, axes: Axes) -> TensorSharding | None:
    """The sharding without axes that are the minor ones of one dimension; None: none has them."""
    count = len(axes)
    for number, dimension in enumerate(sharding.dimensions):
        if count and dimension.axes[-count:] == axes:
            return _with_dimension(sharding, number, dimension.axes[:-count])
    return None


def _with_axes_at(sharding: TensorSharding, axes: Axes, dimension: int) -> TensorSharding | None:
    """The sharding with axes moved to a dimension."""
    rest = _without_axes(sharding, axes)
    return (
        None if rest is None else _with_dimension(rest, dimension, (*rest.dimensions[dimension].axes, *axes))
    )


def _with_dimension(sharding: TensorSharding, number: int, axes: Axes) -> TensorSharding:
    dimensions: list[DimensionSharding] = list(sharding.dimensions)
    dimensions[number] = replace(dimensions[number], axes=axes)
    return replace(sharding, dimensions=tuple(dimensions))


def _whole_source(value: SSAValue, axes: Axes, reader: ShardingReader) -> SSAValue | None:
    """The value that one was resharded from, if only by taking parts along axes."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ReshardOp):
        return None
    source, sharding = operands_of(value.op)[0], _target(value.op)
    given, rest = reader.of(source), _without_axes(sharding, axes)
    if rest is None:
        return None
    is_part = rest.is_fully_replicated if given is None else _axes_of(given) == _axes_of(rest)
    return source if is_part else None


def _axes_of(sharding: TensorSharding) -> tuple[object, ...]:
    return sharding.mesh, sharding.unreduced_axes, *(dimension.axes for dimension in sharding.dimensions)


def _is_less(
    op: Operation, operand: SSAValue, sharding: TensorSharding, wanted: TensorSharding, axes: Axes
) -> bool:
    """True if an all-to-all of an operand takes less than a reduce-scatter of the result."""
    mesh = mesh_of(wanted, meshes_of(module_of(op)))
    parts = total_size(axes, mesh)
    sizes = sizes_of(op.results[0]), sizes_of(operand)
    pieces = [prod(total_size(d.axes, mesh) for d in each.dimensions) for each in (wanted, sharding)]
    if any(s % total_size(d.axes, mesh) for s, d in zip(sizes[0], wanted.dimensions, strict=True)):
        return False
    result, given = (prod(size) / count for size, count in zip(sizes, pieces, strict=True))
    return given / parts < result
