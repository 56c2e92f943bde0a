"""The ops of a prepared program as nodes on slots, in program order: what all its variants share.

Data-flow edges and the values that they stand for have one slot, so edges are no nodes. Nor are dead ops,
which propagation erases.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from enum import Enum

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import DataFlowEdgeOp, MeshOp, ReshardOp, ShardingConstraintOp
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, ConcatenateOp, DotGeneralOp, DotOp
from shardy_py.mlir.dialects.traits import is_constant, is_terminator
from shardy_py.mlir.holders import RULE, SHARDING
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.ops import TABLE, OpRecord, Storage, TensorType
from shardy_py.propagation.graph.slots import FlatModule
from shardy_py.search.study.base import Base, Unsupported
from shardy_py.sharding import ShardingRule


class Around(Enum):
    """The ops around which reshards are inserted after propagation (`sdy-insert-explicit-reshards`)."""

    NONE = 0
    DOT = 1
    CONCATENATE = 2


@dataclass(frozen=True, slots=True)
class StudiedOp:
    """One op.

    operands, results: slots. storage: how it uses memory. merge_key: equal for constants and broadcasts of
    scalars that are merged if their operands and shardings are equal; None for other ops. rule: of dots.
    """

    op: Operation
    record: OpRecord
    operands: tuple[int, ...]
    results: tuple[int, ...]
    storage: Storage
    merge_key: Hashable = None
    around: Around = Around.NONE
    rule: ShardingRule | None = None


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The nodes of a function.

    types: by slot. arguments, returned: slots of its arguments and of the values that it returns. targets:
    the slots of its results.
    """

    nodes: tuple[StudiedOp, ...]
    types: Sequence[TensorType | None]
    arguments: tuple[int, ...]
    returned: tuple[int, ...]
    targets: tuple[int, ...]


def skeleton_of(base: Base) -> Skeleton:
    """Returns the nodes of a prepared program."""
    return _Reader(base.program).read(base)


class _Reader:
    def __init__(self, program: FlatModule) -> None:
        self._slots = program.slots
        self._dead = {id(op) for op in program.dead_ops}
        flat = program.flat
        self._rules = {
            id(op): flat.kinds[kind].rule
            for op, kind in zip(program.step_ops, flat.step_kinds, strict=True)
            if isinstance(op, (DotOp, DotGeneralOp))
        }

    def read(self, base: Base) -> Skeleton:
        block = base.function.body.blocks[0]
        end = block.last_op
        assert end is not None
        nodes = tuple([self._node(op) for op in block.ops if self._is_node(op)])
        values = self._slots.values
        types = [None if value is None else tensor_type(type_of(value)) for value in values]
        get = self._slots.get
        targets = self._slots.function_results[id(base.function)]
        for slot, value in zip(targets, operands_of(end), strict=True):
            types[slot] = tensor_type(type_of(value))
        return Skeleton(
            nodes,
            types,
            tuple(map(get, block.args)),
            tuple(map(get, operands_of(end))),
            targets,
        )

    def _is_node(self, op: Operation) -> bool:
        return not (isinstance(op, (DataFlowEdgeOp, MeshOp)) or is_terminator(op) or id(op) in self._dead)

    def _node(self, op: Operation) -> StudiedOp:
        get = self._slots.get
        operands, results = tuple(map(get, operands_of(op))), tuple(map(get, op.results))
        if 0 in results or 0 in operands:
            raise Unsupported(f"{op.name} has values without shardings")
        record, name = record_of(op), op.name
        if isinstance(op, ShardingConstraintOp):
            record, name = replace(record, name=ReshardOp.name), ReshardOp.name
        around, rule = Around.NONE, None
        if isinstance(op, (DotOp, DotGeneralOp)):
            around, rule = Around.DOT, self._rules.get(id(op))
        elif isinstance(op, ConcatenateOp):
            around = Around.CONCATENATE
        key = _merge_key(op)
        return StudiedOp(op, record, operands, results, TABLE[name].storage, key, around, rule)


def _merge_key(op: Operation) -> Hashable:
    """All that `sdy-constant-or-scalar-merger` compares, but operands and shardings."""
    is_broadcast = isinstance(op, BroadcastInDimOp)
    if not (is_broadcast or is_constant(op)):
        return None
    if is_broadcast:
        tensor = tensor_type(type_of(operands_of(op)[0]))
        if tensor is None or tensor.shape:
            return None
    entries = {**op.properties, **op.attributes}
    named = ((name, number_of(value)) for name, value in entries.items() if name not in (SHARDING, RULE))
    return is_broadcast, tuple(sorted(named)), number_of(type_of(op.results[0]))
