"""The lint rules on communication: implicit, slow, repeated, avoidable.

Not here: rules on tensors (`rules.py`), what loops repeat (`loops.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from shardy_py.api import Result
from shardy_py.check.finding import Finding
from shardy_py.check.loops import body_around, is_invariant, is_only_accumulated
from shardy_py.check.remedies import effect_of, remedy_of_reshard, tried_change
from shardy_py.check.rule import Limits, listed, rule, use_finding
from shardy_py.hardware.cost import CostModel
from shardy_py.mlir.dialects.stablehlo import SliceOp
from shardy_py.mlir.ir import operands_of, written_name
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.report.communication import HALO_EXCHANGE, CollectiveUse
from shardy_py.report.tables import bytes_text
from shardy_py.report.verdict import TriedChange
from shardy_py.sharding import AxisRef, Mesh
from shardy_py.sharding.meshes import mesh_of

_ADVISED = 3
"""The number of findings of a rule for which annotations are tried."""
_REDUCTIONS = frozenset({"all_reduce", "reduce_scatter"})
_REQUIRED = _REDUCTIONS | {HALO_EXCHANGE}
"""The kinds that an op requires however its operands are sharded."""


@rule(
    *("SDY003", "implicit-reshard", "Implicit communication"),
    why="Two annotations conflict, and the partitioner inserts communication.",
    help="Make the annotations agree, or write the reshard as a constraint if it is intended.",
)
def _find_implicit_reshards(result: Result, limits: Limits) -> Iterator[Finding]:
    known: dict[tuple[object, ...], tuple[str, TriedChange | None]] = {}
    for use in _collectives(result, limits):
        if use.kind in _REQUIRED or use.cause.is_explicit or _straddling(result, use):
            continue
        axes = listed(dict.fromkeys(f'"{name}"' for name, _ in use.axes)) or "no axis"
        size = bytes_text(use.cost.bytes)
        message = f"implicit {use.kind} of {size} along {axes}: {use.cause.reason}"
        key = _place(use), message
        if key not in known:  # findings that are alike on a line are shown as one
            change = tried_change(result, use)
            known[key] = remedy_of_reshard(result, use, change), change
        yield use_finding(use, message, *known[key])


@rule(
    *("SDY007", "slow-reduction", "A reduction uses slow links"),
    why="A reduction over slow links is expensive: unlike a gather, it moves the whole tensor.",
    help="Shard the contracted dimension along another axis.",
)
def _find_slow_reductions(result: Result, limits: Limits) -> Iterator[Finding]:
    model = limits.model
    if model is None:
        return
    for use in _collectives(result, limits) if model.by_axis else ():
        slow = [f'"{name}"' for name, _ in use.axes if not _is_fast(model, name)]
        if use.kind in _REDUCTIONS and slow:
            names = listed(dict.fromkeys(slow))
            message = (
                f"{use.kind} of {bytes_text(use.cost.bytes)} over slow links of {names}: {use.cause.reason}"
            )
            yield use_finding(use, message, _remedy_of_slow(result, use, model, names))


@rule(
    *("SDY008", "repeated-reduction", "A reduction runs in each iteration of a loop"),
    why="The loop only adds up what is reduced: one reduction of the sum after the loop moves as much once.",
    help="Accumulate the unreduced terms, and reduce their sum after the loop.",
)
def _find_repeated_reductions(result: Result, limits: Limits) -> Iterator[Finding]:
    for use in _collectives(result, limits):
        op = use.cause.made_for
        body = None if op is None or use.kind not in _REDUCTIONS else body_around(op)
        if op is not None and body is not None and op.results and is_only_accumulated(op.results[0], body):
            message = f"{use.kind} of {_size(use)} along {_axes(use)} in each of {use.times} iterations"
            remedy = "accumulate the terms of each device, for example in a shard_map over the whole loop, "
            yield use_finding(
                use, f"{message}, whose results are only added up", f"{remedy}and reduce their sum after it"
            )


@rule(
    *("SDY009", "loop-invariant-collective", "A collective in a loop could run once before it"),
    why="The loop sends the same data in each iteration.",
    help="Reshard the value before the loop, with a sharding constraint.",
)
def _find_invariant_collectives(result: Result, limits: Limits) -> Iterator[Finding]:
    for use in _collectives(result, limits):
        op, operand = use.cause.made_for, use.cause.operand
        body = None if op is None or use.kind in _REDUCTIONS else body_around(op)
        if op is None or body is None or not 0 <= operand < len(op.operands):
            continue
        if is_invariant(operands_of(op)[operand], body):
            message = f"{use.kind} of {_size(use)} along {_axes(use)} in each of {use.times} iterations: "
            message += f"operand {operand} of {written_name(op)} is the same in all of them"
            yield use_finding(use, message, "reshard it before the loop, with a sharding constraint")


@rule(
    *("SDY010", "straddling-slice", "A slice takes parts of shards"),
    why="Where a slice begins or ends within a shard, its elements move between devices.",
    help="Shard another dimension, or give the parts a dimension of their own: (..., 3, n) instead of 3 * n.",
)
def _find_straddling_slices(result: Result, limits: Limits) -> Iterator[Finding]:
    tried = 0
    for use in _collectives(result, limits):
        if text := _straddling(result, use):
            message = f"{text}: {use.kind} of {_size(use)} along {_axes(use)}"
            tried += 1
            other = _other_dimension(result, use, limits) if tried <= _ADVISED else ""
            remedy = f"{other}give the parts that are sliced a dimension of their own: "
            yield use_finding(use, message, f"{remedy}(..., 3, n) instead of 3 * n, sharded along n")


@rule(
    *("SDY012", "full-rematerialization", "XLA gathers a whole tensor to reshard it"),
    why="XLA's partitioner finds no better way between two shardings: every device gets the whole tensor.",
    help="Change one of the shardings as the finding suggests, or reshard in two steps.",
)
def _find_rematerializations(result: Result, limits: Limits) -> Iterator[Finding]:
    report = limits.communication(result)
    for each in report.rematerialized:
        message = "involuntary full rematerialization: XLA cannot go from sharding "
        message += f"{each.source} to {each.target} efficiently for {each.op}"
        uses = (
            use for use in report.sending if use.cause.made_for is each.made_for and use.kind == "all_gather"
        )
        use = next(uses, None)
        remedy = "reshard in two steps with a sharding constraint in between, or change one of the shardings"
        change = None if use is None else tried_change(result, use)
        remedy = remedy if change is None else change.saving
        yield Finding(
            *("", "warning", message, remedy, each.op, each.function, each.position, each.location),
            scope=each.location.partition(" ")[2],
            change=change,
        )


def _place(use: CollectiveUse) -> tuple[str, str, int]:
    place = use.cause.position
    return (use.kind, "", id(use)) if place is None else (use.kind, place.file, place.line)


def _size(use: CollectiveUse) -> str:
    return bytes_text(use.cost.bytes)


def _axes(use: CollectiveUse) -> str:
    return listed(dict.fromkeys(f'"{name}"' for name, _ in use.axes)) or "no axis"


def _remedy_of_slow(result: Result, use: CollectiveUse, model: CostModel, names: str) -> str:
    """An axis with fast links that shards no tensor of the op may take the place of the slow ones."""
    op, reader = use.cause.made_for, ShardingReader()
    values = () if op is None else (*operands_of(op), *op.results)
    shardings = [sharding for value in values if (sharding := reader.of(value)) is not None]
    taken = {axis.name for each in shardings for dimension in each.dimensions for axis in dimension.axes}
    free = [
        f'"{axis.name}"'
        for axis in (axis for mesh in result.program.meshes.values() for axis in mesh.axes)
        if axis.size > 1 and axis.name not in taken and _is_fast(model, axis.name)
    ]
    if free:
        return f"shard the contracted dimension along {' or '.join(free)} instead of {names}"
    return f"no free axis has fast links: exchange {names} with one that has, or place it on faster links"


def _is_fast(model: CostModel, axis: str) -> bool:
    return model.link_of(axis).bytes_per_second >= model.link.bytes_per_second


def _other_dimension(result: Result, use: CollectiveUse, limits: Limits) -> str:
    """Says which dimension to shard instead of the one that is sliced; "" if none sends less, as tried."""
    op = use.cause.made_for
    assert op is not None
    operand = operands_of(op)[0]
    type_, sharding = tensor_type(operand.type), ShardingReader().of(operand)
    if type_ is None or sharding is None:
        return ""
    mesh, made = mesh_of(sharding, Symbols(result.program.module).meshes()), tensor_type(op.results[0].type)
    axes = tuple(dict.fromkeys(name for name in use.axis_names if name in mesh.sizes))
    pairs = zip(type_.shape, () if made is None else made.shape, sharding.dimensions, strict=True)
    parts = prod(mesh.sizes[name] for name in axes)
    others = [
        n
        for n, (own, after, d) in enumerate(pairs)
        if own is not None and own == after and own % parts == 0 and not d.axes
    ]
    for number in others if axes else ():
        spec = [axes if n == number else () for n in range(len(type_.shape))]
        if effect := effect_of(result, operand, spec, limits):
            return f"shard dimension {number} instead ({effect}), or "
    return ""


def _straddling(result: Result, use: CollectiveUse) -> str:
    """Says how the slice that a collective is made for straddles shards; "" if it is none, or does not."""
    op = use.cause.made_for
    if not isinstance(op, SliceOp) or use.cause.is_explicit:
        return ""
    operand = operands_of(op)[0]
    type_, sharding = tensor_type(operand.type), ShardingReader().of(operand)
    if type_ is None or sharding is None:
        return ""
    mesh = mesh_of(sharding, Symbols(result.program.module).meshes())
    record = record_of(op)
    bounds = zip(record.attributes["start_indices"], record.attributes["limit_indices"], strict=True)
    for number, ((start, limit), size) in enumerate(zip(bounds, type_.shape, strict=True)):
        axes = sharding.dimensions[number].axes
        shard = _shard(size or 0, axes, mesh)
        if axes and (start % shard or (limit % shard and limit != size)):
            names = listed(map(str, axes))
            return f"slice [{start}:{limit}] of dimension {number} straddles shards of {shard} along {names}"
    return ""


def _shard(size: int, axes: Iterable[AxisRef], mesh: Mesh) -> int:
    parts = 1
    for axis in axes:
        parts *= axis.size(mesh)
    return max(1, -(-size // parts))


def _collectives(result: Result, limits: Limits) -> Iterator[CollectiveUse]:
    report = limits.communication(result)
    return (use for use in report.sending if use.cost.bytes >= limits.reshard_bytes)
