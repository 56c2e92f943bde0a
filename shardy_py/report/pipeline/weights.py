"""The weights of the stages of a loop: what its products read that no stage has sent.

Not here: which loops are pipelines (`detected.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.ir import Block, Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops.dimensions import GatherDimensions
from shardy_py.report.pipeline.flow import LoopFlow
from shardy_py.sharding import Mesh

_DYNAMIC_SLICE, _GATHER = op_class("dynamic_slice"), op_class("gather")
_MOST_FOLLOWED = 1000
"""Ops that are followed from a weight to where it comes from."""


@dataclass(frozen=True)
class StageWeights:
    """The weights of a loop's stages.

    bytes: on each device. repeats: the sets of weights of a stage, of which an iteration takes one.
    """

    bytes: int
    repeats: int


def stage_weights(
    flow: LoopFlow, read: Iterable[SSAValue], axis: str, trips: int, meshes: Mapping[str, Mesh]
) -> StageWeights | None:
    """Returns the weights among values that products read; None if none is sharded along the axis of stages.

    trips: the iterations: a dimension of that size is that of what a scan reads or writes, not of weights.
    """
    reader, repeats, found = ShardingReader(), 1, dict[int, SSAValue]()
    for value in read:
        sources, own = _sources(flow, value, trips)
        held = [each for each in sources if _is_along(each, axis, reader)]
        found |= {id(each): each for each in held}
        repeats = max(repeats, own if held else 1)
    if not found:
        return None
    return StageWeights(sum(local_bytes(each, reader, meshes) for each in found.values()), repeats)


def local_bytes(value: SSAValue, reader: ShardingReader, meshes: Mapping[str, Mesh]) -> int:
    """Returns the bytes of a value on each device."""
    type_ = tensor_type(value.type)
    if type_ is None or None in type_.shape:
        return 0
    return tensor_size(type_, reader.of(value), meshes, "linear").bytes.local_bytes


def _sources(flow: LoopFlow, value: SSAValue, trips: int) -> tuple[list[SSAValue], int]:
    """The values from before the loop that a value is made of, and how many parts one of them has."""
    pending, seen, found, repeats = [flow.resolved(value)], set[int](), list[SSAValue](), 1
    while pending and len(seen) < _MOST_FOLLOWED:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        op = flow.op_of(each.op) if isinstance(each, OpResult) else None
        if id(each) in flow.arguments:
            if id(each) in flow.invariant:
                found.append(operands_of(flow.loop)[flow.arguments[id(each)]])
        elif op is None:
            found.append(each)
        else:
            repeats = max(repeats, _parts(op, trips))
            is_part = isinstance(op, _DYNAMIC_SLICE | _GATHER)  # whose other operands are places
            pending += [flow.resolved(operands_of(op)[0])] if is_part else flow.read(op)
    return found, repeats


def _parts(op: Operation, trips: int) -> int:
    """How many parts of its operand an op takes one of, by a number that it reads."""
    if not isinstance(op, _DYNAMIC_SLICE | _GATHER):
        return 1
    record = record_of(op)
    operand, sizes = record.operands[0], record.attributes["slice_sizes"]
    batching: tuple[int, ...] = ()
    if isinstance(op, _GATHER):
        batching = GatherDimensions.of(record.attributes).batching
    shape = () if operand is None else operand.shape
    pairs = (
        (n, size, part)
        for n, (size, part) in enumerate(zip(shape, sizes, strict=True))
        if n not in batching and size not in (None, trips)
    )
    return max((size // part for _, size, part in pairs if size and part), default=1)


def _is_along(value: SSAValue, axis: str, reader: ShardingReader) -> bool:
    """Returns whether a value from before a loop, or what it is made of, is sharded along an axis."""
    pending, seen = [value], set[int]()
    while pending and len(seen) < _MOST_FOLLOWED:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        sharding = reader.of(each)
        if sharding is not None and any(a.name == axis for d in sharding.dimensions for a in d.axes):
            return True
        pending += _made_of(each)
    return False


def _made_of(value: SSAValue) -> Iterator[SSAValue]:
    """Yields the values that one within a manual computation is made of, up to the operands of that."""
    if isinstance(value, OpResult):
        if _is_manual(value.op.parent):
            yield from operands_of(value.op)
    elif isinstance(value.owner, Block) and isinstance(
        around := value.owner.parent_op(), ManualComputationOp
    ):
        yield operands_of(around)[value.owner.args.index(value)]


def _is_manual(block: Block | None) -> bool:
    while block is not None and (around := block.parent_op()) is not None:
        if isinstance(around, ManualComputationOp):
            return True
        block = around.parent
    return False
