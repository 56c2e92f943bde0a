"""`select_and_scatter` along sharded windows: parts select and scatter in all windows that touch them.

A part gets the elements of these windows and their source elements, and keeps its own part of the result. Its
windows are a range of one length for all parts; those beyond the source scatter the identity of the combiner.
Explicit reshards gather the source, whose dimension is another factor: that is looked through. What is read:
`localize/arithmetic/select_windows.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import BlockArgument, Operation

from shardy_py.localize.arithmetic.select_windows import SelectedParts, selected_parts
from shardy_py.localize.halo_exchange import LocalBuilder
from shardy_py.localize.identities import identity_data
from shardy_py.localize.padding_masks import scalar
from shardy_py.localize.permutation_windows import NOT_SHARDED, Description, is_isolated
from shardy_py.localize.resolution import Resolution, parts_of
from shardy_py.localize.window_exchange import Operand, Parts, Windowed, cut_from
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.stablehlo import CompareOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import combiners_of, record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops import Identity
from shardy_py.ops.dimensions import Window, own_windows
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.sharding import TensorSharding

Plans = Mapping[int, SelectedParts]
"""By dimension."""

_NEVER_SELECTED = {
    "GE": Identity.LOWEST,
    "GT": Identity.LOWEST,
    "LE": Identity.HIGHEST,
    "LT": Identity.HIGHEST,
}
"""By comparison of the first argument with the second one: a value that no window selects that has others."""


def selecting_windows(op: Operation, state: Resolution) -> Description:
    """`select_and_scatter`: windows over the operand, whose selected elements combine those of the source."""
    operand, source, initial = operands_of(op)
    found = state.sharded(operand)
    if found is None:
        return NOT_SHARDED
    sharding, mesh = found
    plans = _plans(op, sharding, parts_of(sharding, mesh))
    if not plans:
        return NOT_SHARDED
    if not is_isolated(op):
        return "its regions use values from outside"
    (combiner,) = combiners_of(op, 1)
    rest = None if combiner is None else identity_data(combiner, element_of(source))
    if rest is None:
        return "its scatter has no identity"
    needs_filler = any(plan.operand.is_masked for plan in plans.values())
    fill = _never_selected(op)
    if needs_filler and fill is None:
        return "its select may choose any value for padding"
    build = StablehloBuilder(op)
    padding = scalar(build, fill, element_of(operand)) if needs_filler and fill is not None else None
    neutral = build.dense(ranked_tensor((), element_of(source)), rest)
    described = [
        Operand(
            operand, sharding, {d: plan.operand for d, plan in plans.items()}, padding, is_filled=needs_filler
        ),
        _source(op, source, sharding, plans, neutral, state),
        Operand(initial, TensorSharding(sharding.mesh, ())),
    ]

    def local(inner: LocalBuilder, parts: Parts) -> Sequence[Value]:
        return [_on_part(op, inner, parts, plans, sharding)]

    return Windowed(mesh, described, [(op.results[0], sharding)], local)


def _plans(op: Operation, sharding: TensorSharding, parts: Sequence[int]) -> Plans:
    """The plans of the sharded dimensions, without those along which window i is element i."""
    attributes = record_of(op).attributes
    shape, counts = (shape_of(value) for value in operands_of(op)[:2])
    windows = own_windows(attributes, len(shape))
    return {
        d: selected_parts(parts[d], shape[d], counts[d], window)
        for d, window in enumerate(windows)
        if parts[d] > 1 and window != Window(1)
    }


def _never_selected(op: Operation) -> Identity | None:
    """The value that the comparison of `select` prefers to no other; None for other regions."""
    end = ir.terminator_of(op.regions[0])
    compare = None if end is None else operands_of(end)[0].owner
    if not isinstance(compare, CompareOp):
        return None
    order = [value.index if isinstance(value, BlockArgument) else -1 for value in operands_of(compare)]
    given: Any = compare.properties.get("compare_type")
    if order != [0, 1] or (given is not None and str(plain(given)) == "TOTALORDER"):
        return None
    return _NEVER_SELECTED.get(str(plain(compare.properties["comparison_direction"])))


def _source(
    op: Operation, source: Value, sharding: TensorSharding, plans: Plans, neutral: Value, state: Resolution
) -> Operand:
    """The source, sharded as the operand; whole along the dimensions if it was never sharded."""
    given = state.reader.of(source) or TensorSharding.fully_closed(sharding.mesh, sharding.rank)
    wanted = replace(
        given,
        dimensions=tuple(
            sharding.dimensions[d] if d in plans else kept for d, kept in enumerate(given.dimensions)
        ),
    )
    reads = {d: plan.source for d, plan in plans.items()}
    if given == wanted:
        return Operand(source, given, reads, neutral)
    maker = source.owner
    if not isinstance(maker, sdy.ReshardOp):
        return Operand(source, given, filler=neutral)
    before = operands_of(maker)[0]
    if state.reader.of(before) != wanted:
        reshard = identity_op(sdy.ReshardOp, before, wanted, op.location)
        ir.place_before(reshard, op)
        before = reshard.results[0]
    return Operand(before, wanted, reads, neutral)


def _on_part(
    op: Operation, inner: LocalBuilder, parts: Parts, plans: Plans, sharding: TensorSharding
) -> Value:
    """The op on the windows of a part, and the part of its result."""
    operand, source, initial = parts.gathered
    build = inner.build_for(sharding)
    if not parts.exchanges[1]:
        source = _from_whole(inner, build, source, plans, sharding, parts.fillers[-1])
    attributes = record_of(op).attributes
    padding = list(attributes.get("padding") or [(0, 0)] * sharding.rank)
    for dimension in plans:
        padding[dimension] = (0, 0)
    regions = [op.detach_region(0) for _ in op.regions]
    made = build.insert(
        "select_and_scatter",
        (operand, source, initial),
        (operand.type,),
        regions,
        window_dimensions=attributes.get("window_dimensions"),
        window_strides=attributes.get("window_strides"),
        padding=padding,
    ).results[0]
    for dimension, plan in plans.items():
        size = plan.operand.source.part_in
        axes = sharding.dimensions[dimension].axes
        made = cut_from(inner, build, made, dimension, axes, plan.own, size)
    return made


def _from_whole(
    inner: LocalBuilder,
    build: StablehloBuilder,
    source: Value,
    plans: Plans,
    sharding: TensorSharding,
    neutral: Value,
) -> Value:
    """The source elements of the windows of a part, from those of all windows."""
    low, high, none = ([0] * sharding.rank for _ in range(3))
    for dimension, plan in plans.items():
        low[dimension], high[dimension], _ = plan.from_whole
    if any((*low, *high)):
        source = build.pad(source, neutral, low, high, none)
    for dimension, plan in plans.items():
        axes = sharding.dimensions[dimension].axes
        source = cut_from(inner, build, source, dimension, axes, plan.from_whole[2], plan.windows)
    return source
