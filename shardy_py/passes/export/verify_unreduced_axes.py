"""`sdy-verify-unreduced-axes`: verifies that no unreduced axis is lost between ops.

    %0 = stablehlo.add %arg0, %arg0 {... [<@mesh, [{"x"}]>]}        %arg0: [{"x"}], unreduced={"y"}
    error: 'stablehlo.add' op dropped unreduced axis 'y' without a blessed operation (e.g., sdy.reshard). ...

Reshards, reductions, calls and terminators have rules of their own; any other op may introduce unreduced axes
but not reduce any.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.dialects.sdy import (
    AllReduceOp,
    ReduceScatterOp,
    ReplicatedToUnreducedOp,
    ReshardOp,
    ReturnOp,
    ShardedToUnreducedOp,
    ShardingConstraintOp,
)
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.stablehlo import ReduceOp
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.ir import operands_of, walk_post_order
from shardy_py.mlir.record import name_of
from shardy_py.mlir.sharding_walk import survey
from shardy_py.mlir.symbols import Symbols, functions_of, meshes_of
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import of_kind
from shardy_py.mlir.value_shardings import ShardingReader, before_barriers
from shardy_py.ops import REDUCTIONS, TABLE
from shardy_py.passes.export.body_reductions import body_reduction
from shardy_py.reshard.steps import mismatch_fault, transition_fault
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.tensor_sharding import without_manual_axes

RESHARDS = (ReshardOp, ShardingConstraintOp)
SDY_REDUCTIONS = (AllReduceOp, ReduceScatterOp)
UNREDUCING = (ReplicatedToUnreducedOp, ShardedToUnreducedOp)
RETURNS = (FuncReturnOp, ReturnOp)
"""The terminators checked; Shardy does not check those of StableHLO."""
REDUCE = ReduceOp.name
SUM = REDUCTIONS[0]


def verify_unreduced_axes(module: ModuleOp) -> None:
    """Verifies that no unreduced axis is lost between ops."""
    check = _Check(module)
    found = survey(module, *(op.name for op in SDY_REDUCTIONS))
    if found.any_sharding(lambda sharding: bool(sharding.unreduced_axes)):
        first = [check.first_fault(walk_post_order(f, include_root=False)) for f in functions_of(module)]
    else:
        first = [check.first_fault(found.ops)]
    faults = [fault for fault in first if fault is not None]
    if faults:
        raise ShardyError(*faults)


class _Check:
    def __init__(self, module: ModuleOp) -> None:
        self._symbols = Symbols(module)
        self._meshes = meshes_of(module)
        self._reader = ShardingReader()

    def first_fault(self, ops: Iterable[Operation]) -> Diagnostic | None:
        for op in ops:
            fault = self._fault(op)
            if fault is not None:
                return Diagnostic(f"'{name_of(op)}' op {fault}", position_of(op.location))
        return None

    def _fault(self, op: Operation) -> str | None:
        name = op.name
        if is_terminator(op):
            return self._return_fault(op) if isinstance(op, RETURNS) else None
        if isinstance(op, CallOp):
            return self._call_fault(op)
        if isinstance(op, RESHARDS):
            source = self._sharding(operands_of(op)[0])
            if source is None:
                return None
            return self._fault_between((source,), op.results, self._made_by(op), source.reduction)
        if isinstance(op, SDY_REDUCTIONS):
            source = self._sharding(operands_of(op)[0])
            if source is None:
                return "operand must be sharded."
            return self._fault_between((source,), op.results, None, _reduction_of(op))
        collective = TABLE[name].collective
        if collective is not None and collective.names_devices and collective.reduces:
            source = self._sharding(operands_of(op)[0])
            return self._fault_between((source,), op.results[:1], None, body_reduction(op.regions[0]))
        operands = operands_of(op)
        if name == REDUCE:
            operands = operands[: len(operands) // 2]
        introduced = body_reduction(op.regions[0]) if name == REDUCE else SUM
        if isinstance(op, UNREDUCING):
            introduced = self._made_by(op)
        # A reshard that defines an operand is checked itself.
        shardings = tuple(None if _is_resharded(v) else self._sharding(v) for v in operands)
        return self._fault_between(shardings, op.results, introduced, None)

    def _fault_between(
        self,
        operands: tuple[TensorSharding | None, ...],
        results: tuple[OpResult, ...],
        introduced: str | None,
        removed: str | None,
    ) -> str | None:
        shardings = tuple(map(self._sharding, results))
        return transition_fault(operands, shardings, self._meshes, introduced=introduced, removed=removed)

    def _made_by(self, op: Operation) -> str:
        """The reduction of an op that may introduce unreduced axes of any; before JAX 0.12, of a sum."""
        made = self._sharding(op.results[0])
        return SUM if made is None or not Behaviour.MAXIMA_ARE_INTRODUCED.holds else made.reduction

    def _sharding(self, value: SSAValue) -> TensorSharding | None:
        return self._reader.through_barriers(value)

    def _return_fault(self, op: Operation) -> str | None:
        parent = op.parent_op()
        if parent is None:
            return None
        for index, value in enumerate(operands_of(op)):
            target = self._returned_as(parent, index)
            if target is not None and not _is_resharded(value):
                where = (
                    f"at return value {index} without a blessed operation (e.g., sdy.reshard). "
                    "This is an invalid transition from unreduced to reduced."
                )
                if fault := mismatch_fault(self._sharding(value), target, where):
                    return fault
        return None

    def _returned_as(self, parent: Operation, index: int) -> TensorSharding | None:
        """The sharding of the value that a terminator's operand becomes."""
        if isinstance(parent, FuncOp):
            return _at(attribute_list_shardings(parent.properties.get("res_attrs")), index)
        sharding = self._sharding(parent.results[index]) if index < len(parent.results) else None
        return without_manual_axes(sharding, manual_axes(parent)) if sharding is not None else None

    def _call_fault(self, call: Operation) -> str | None:
        callee = self._symbols.callee(call)
        arguments = attribute_list_shardings(callee.properties.get("arg_attrs"))
        for index, value in enumerate(operands_of(call)):
            if not _is_resharded(value):
                where = f"at call argument {index}."
                if fault := mismatch_fault(self._sharding(value), _at(arguments, index), where):
                    return fault
        results = attribute_list_shardings(callee.properties.get("res_attrs"))
        for index, result in enumerate(call.results):
            where = f"at call result {index}."
            if fault := mismatch_fault(_at(results, index), self._sharding(result), where):
                return fault
        return None


def _is_resharded(value: SSAValue) -> bool:
    """Returns whether a reshard or constraint defines `value`, possibly through barriers."""
    value = before_barriers(value)
    return isinstance(value, OpResult) and isinstance(value.op, RESHARDS)


def _reduction_of(op: Operation) -> str:
    given = op.properties.get("reduction_op")
    return SUM if given is None else REDUCTIONS[of_kind(given, IntegerAttr).value.data]


def _at(shardings: tuple[TensorSharding | None, ...], index: int) -> TensorSharding | None:
    return shardings[index] if index < len(shardings) else None
