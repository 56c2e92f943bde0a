"""`sdy-resolve-reduction-factors`: all-reduces combine as the reductions before them do.

`sdy-insert-explicit-reshards` sums what devices have reduced, whatever the combiner is, and each of them has
taken in the initial value:

    maximum, minimum        the all-reduce takes the maximum, minimum; likewise `and`, `or` of booleans
    add                     starts from 0; another initial value is added after the all-reduce
    multiply, ...           an all-reduce of StableHLO (`reduction_products.py`)
    any other combiner      each device reduces its part, the results are gathered, and reduced again

An all-reduce of what another one has reduced along the same axes does nothing: programs may have their own.

    %a: [{"x"}], the combiner %c has no identity
    before  %0 = stablehlo.reduce(%a init: %b) applies %c across dimensions = [0]
            %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, []>
    after   %0 = stablehlo.reshape %a {... [{"x"}, {}]} : (tensor<8xf32>) -> tensor<2x4xf32>
            %1 = stablehlo.reduce(%0 init: %b) applies %c across dimensions = [1]
            %2 = sdy.reshard %1 <@mesh, [{}]> : tensor<2xf32>
            %3 = stablehlo.reduce(%2 init: %b) applies %c across dimensions = [0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, i32
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.localize.device_ids import DeviceCounts, next_channel
from shardy_py.localize.halo_exchange import DeviceNumbers
from shardy_py.localize.identities import identity_data
from shardy_py.localize.localizer import renewed
from shardy_py.localize.padding_masks import scalar
from shardy_py.localize.reduction_products import all_reduced, identities_of
from shardy_py.localize.unreduced_results import resolve_unreduced_results
from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.stablehlo import OPS, ReduceOp, ScatterOp
from shardy_py.mlir.dialects.traits import constant_of, data_flow
from shardy_py.mlir.ir import (
    find_ops,
    operands_of,
    place_before,
    replace_operand,
    replace_uses,
    walk_pre_order,
)
from shardy_py.mlir.movements import inserting_for, note_copies, replace_by_values
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import combiner_of, combiners_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.typed import integers_of
from shardy_py.mlir.value_shardings import ShardingReader, set_value_shardings
from shardy_py.ops import REDUCTIONS, TABLE, Identity
from shardy_py.ops.combiners import ADD
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.sharding import Axes, AxisRef, DimensionSharding, TensorSharding
from shardy_py.sharding.axis_lists import difference, total_size
from shardy_py.sharding.meshes import Meshes, mesh_of

_CLOSED = DimensionSharding(is_closed=True)
_KEEPS_SUMS = (sdy.AllGatherOp, sdy.AllSliceOp, sdy.AllToAllOp, sdy.CollectivePermuteOp, sdy.ReshardOp)


def resolve_reduction_factors(module: ModuleOp) -> None:
    """Adapts the all-reduces after all reductions and scatters, and those reductions."""
    meshes, reader = meshes_of(module), ShardingReader()
    for op in list(find_ops(module, sdy.AllReduceOp.name)):
        _leave_out_reduced_axes(op, reader, meshes)
    devices = DeviceNumbers(next_channel(module), DeviceCounts())
    for op in list(walk_pre_order(module, include_root=False)):
        is_sdy = op.name.startswith("sdy.") and not isinstance(op, sdy.ReshardOp)
        if not (is_sdy or isinstance(op, CallOp) or data_flow(op) is not None):
            with inserting_for(op):
                resolve_unreduced_results(op, reader, meshes)
    for op in find_ops(module, ReduceOp.name, ScatterOp.name):
        all_reduces = [_all_reduce_of(result) for result in op.results]
        if None in all_reduces:
            continue
        found = cast("list[Operation]", all_reduces)
        if isinstance(op, ScatterOp):
            _set_reduction(found, combiner_of(op))
            continue
        combiners = combiners_of(op)
        if all(map(_terms, combiners)):
            totals: dict[int, Value] = {}
            for index, (all_reduce, name) in enumerate(zip(found, combiners, strict=True)):
                _set_reduction((all_reduce,), name)
                if (
                    name == ADD.op
                    and (total := _add_initial_value(op, index, all_reduce, reader)) is not None
                ):
                    totals[index] = total
            if totals:
                _replace_by_terms(op, totals)
            continue
        identities = identities_of(op)
        with inserting_for(op):
            if identities is None or not all_reduced(op, found, identities, reader, meshes, devices):
                _TwoSteps(op, found, reader, meshes).insert()


def _leave_out_reduced_axes(op: Operation, reader: ShardingReader, meshes: Meshes) -> None:
    """Reduces along axes along which the operand is a sum already no more."""
    (value,), (result,) = operands_of(op), op.results
    done, maker = list[AxisRef](), value.owner
    while isinstance(maker, (*_KEEPS_SUMS, sdy.AllReduceOp)):
        if isinstance(maker, sdy.AllReduceOp):
            done += plain(maker.properties["reduction_axes"])
        maker = operands_of(maker)[0].owner
    sharding = reader.of(value)
    if not done or sharding is None or sharding.unreduced_axes:
        return
    axes: Axes = plain(op.properties["reduction_axes"])
    left = difference(axes, tuple(done), mesh_of(sharding, meshes))
    if not left and sharding == reader.of(result):
        replace_by_values(op, (value,))
    elif left != axes:
        op.properties["reduction_axes"] = sdy.AxisRefListAttr(left)


def _all_reduce_of(result: SSAValue) -> Operation | None:
    """The all-reduce that is the only user of `result`, None if it has another one."""
    use = result.first_use
    if use is None or ir.next_use(use) is not None or not isinstance(use.operation, sdy.AllReduceOp):
        return None
    return use.operation


def _terms(combiner: str | None) -> str:
    """The reduction of sdy that continues one with a combiner; empty if there is none."""
    row = TABLE[combiner or ""].combiner
    return "" if row is None else row.terms


def _set_reduction(all_reduces: Sequence[Operation], combiner: str | None) -> None:
    name = _terms(combiner) or "sum"
    for op in all_reduces:
        if name != "sum":
            op.properties["reduction_op"] = IntegerAttr(REDUCTIONS.index(name), i32)


def _add_initial_value(
    op: Operation, index: int, all_reduce: Operation, reader: ShardingReader
) -> Value | None:
    """Makes a sum start from zero on all devices, and adds an initial value that is not zero at the end.

    Returns the sum with it; None if the initial value is zero.
    """
    initial = operands_of(op)[len(op.results) + index]
    constant = constant_of(initial)
    value = constant.properties.get("value") if constant is not None else None
    if isinstance(value, DenseIntOrFPElementsAttr) and not any(value.data.data):
        return None
    zero = scalar(StablehloBuilder(op), Identity.ZERO, element_of(initial))
    replace_operand(op, len(op.results) + index, zero)
    build = StablehloBuilder(all_reduce, reader.of(all_reduce.results[0]))
    result = renewed(all_reduce).results[0]
    start = build.broadcast(build.convert(initial, element_of(result)), shape_of(result))
    total = build.binary("add", result, start)
    replace_by_values(all_reduce, (total,))
    return total


def _replace_by_terms(op: Operation, totals: Mapping[int, Value]) -> None:
    """Replaces a sum by one whose results are terms without initial values: none of the whole program."""
    made = renewed(op)
    for index, (before, after) in enumerate(zip(op.results, made.results, strict=True)):
        replace_uses(before, after)
        note_copies({before: totals.get(index, after)})
    ir.erase(op)


@dataclass(slots=True)
class _TwoSteps:
    """A reduction of parts, and one of their gathered results."""

    op: Operation
    all_reduces: Sequence[Operation]
    reader: ShardingReader
    meshes: Meshes

    def insert(self) -> None:
        """Replaces the all-reduces."""
        op, count = self.op, len(self.op.results)
        first = self.reader.of(operands_of(op)[0])
        assert first is not None
        dimensions = set(integers_of(op, "dimensions"))
        operands, initial = operands_of(op)[:count], operands_of(op)[count:]
        neutral = self._neutral(initial)
        mesh = mesh_of(first, self.meshes)
        parts = {
            dimension: total_size(first.dimensions[dimension].axes, mesh)
            for dimension in sorted(dimensions)
            if first.dimensions[dimension].axes
        }
        split = _split_sharding(first, parts)
        pieces = [
            self._split(value, start, parts, split) for value, start in zip(operands, neutral, strict=True)
        ]
        inside: list[int] = []
        kept: list[int] = []
        gathered: list[int] = []
        position = 0
        for dimension in range(first.rank):
            if dimension in parts:
                gathered.append(len(kept))
                kept.append(position)
                position += 1
            (inside if dimension in dimensions else kept).append(position)
            position += 1
        partial = replace(split, dimensions=tuple(split.dimensions[d] for d in kept))
        results = self._reduce(pieces, neutral, inside, partial)
        whole = replace(
            partial,
            dimensions=tuple(_CLOSED if d in gathered else s for d, s in enumerate(partial.dimensions)),
        )
        moved = [self._reshard(value, whole) for value in results]
        target = self.reader.of(self.all_reduces[0].results[0])
        assert target is not None
        for all_reduce, value in zip(
            self.all_reduces, self._reduce(moved, initial, gathered, target), strict=True
        ):
            replace_by_values(all_reduce, (value,))
        ir.erase(op)

    def _neutral(self, initial: Sequence[Value]) -> Sequence[Value]:
        """The initial values of parts: identities, so that those of the program count once.

        Those of the program if the combiner is of no known kind: then they are its identities.
        """
        names = combiners_of(self.op)
        known = [identity_data(name or "", element_of(v)) for name, v in zip(names, initial, strict=True)]
        if None in known:
            return initial
        build = StablehloBuilder(self.op)
        return [build.dense(v.type, data) for v, data in zip(initial, known, strict=True) if data is not None]

    def _split(self, value: Value, start: Value, parts: dict[int, int], sharding: TensorSharding) -> Value:
        """`value` with each sharded reduced dimension as two: the parts, and the elements of a part."""
        shape = list(shape_of(value))
        high = [-shape[d] % parts.get(d, 1) for d in range(len(shape))]
        if any(high):
            build = StablehloBuilder(self.op, self.reader.of(value))
            value = build.pad(value, start, (0,) * len(high), high)
            shape = list(shape_of(value))
        sizes: list[int] = []
        for dimension, size in enumerate(shape):
            count = parts.get(dimension)
            sizes += [size] if count is None else [count, size // count]
        return StablehloBuilder(self.op, sharding).reshape(value, sizes)

    def _reduce(
        self, values: Sequence[Value], initial: Sequence[Value], dimensions: Sequence[int], to: TensorSharding
    ) -> Sequence[Value]:
        shape = [size for d, size in enumerate(shape_of(values[0])) if d not in dimensions]
        types = [resized(result, shape) for result in self.op.results]
        kind = next(s.kind for s in OPS.rows["reduce"].attributes if s.name == "dimensions")
        properties = dict(self.op.properties) | {"dimensions": kind.encode(tuple(dimensions))}
        region = type(self.op.regions[0])()
        clone_region_into(self.op.regions[0], region, {})
        made = ir.build_operation(
            type(self.op), (*values, *initial), types, properties, {}, self.op.location, None, (region,)
        )
        place_before(made, self.op)
        set_value_shardings((result, to) for result in made.results)
        return made.results

    def _reshard(self, value: Value, sharding: TensorSharding) -> Value:
        op = identity_op(sdy.ReshardOp, value, sharding, self.op.location)
        place_before(op, self.op)
        return op.results[0]


def _split_sharding(sharding: TensorSharding, parts: dict[int, int]) -> TensorSharding:
    """The sharding after each dimension of `parts` became two, of which the first keeps its axes."""
    dimensions: list[DimensionSharding] = []
    for dimension, given in enumerate(sharding.dimensions):
        dimensions += [given, _CLOSED] if dimension in parts else [given]
    return replace(sharding, dimensions=tuple(dimensions))
