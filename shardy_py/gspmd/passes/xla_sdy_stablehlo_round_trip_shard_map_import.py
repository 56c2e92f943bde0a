"""`xla-sdy-stablehlo-round-trip-shard-map-import`: makes manual computations of GSPMD's shard maps.

    before  %1 = custom_call @Sharding(%0) {S}
            %2 = custom_call @SPMDFullToShardShape(%1) {manual}
            %3 = call @shmap_body(%2)
            %4 = custom_call @Sharding(%3) {manual}
            %5 = custom_call @SPMDShardToFullShape(%4) {T}
    after   %5 = sdy.manual_computation(%0) in_shardings=[S] out_shardings=[T] manual_axes={...} { ... }

A body that XLA has put in place of its call is made a function first. Runs behind `xla-sdy-import-shardings`,
which has turned the shardings into sdy's and noted the manual axes.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ManualAxesAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.calls import calls_in
from shardy_py.graph.op_errors import error_at
from shardy_py.graph.symbols import Symbols, callee_name
from shardy_py.graph.value_shardings import rank_of, sharding_of
from shardy_py.gspmd.custom_calls import constraint_sharding
from shardy_py.gspmd.frontend_attributes import (
    CUSTOM_CALL,
    FULL_TO_SHARD,
    MANUAL_AXES,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    call_target,
)
from shardy_py.gspmd.inlined_shard_maps import outline_shard_maps
from shardy_py.gspmd.shard_maps import ManualCall, erase_unused, producer, to_manual_computation, users
from shardy_py.ir import find_ops
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True)
class XlaSdyStablehloRoundTripShardMapImportPass(ModulePass):
    """Makes manual computations of GSPMD's shard maps."""

    name = "xla-sdy-stablehlo-round-trip-shard-map-import"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        _import_calls(op, symbols)
        if _borders(op):
            outline_shard_maps(op, symbols)
            _import_calls(op, symbols)


def _import_calls(module: ModuleOp, symbols: Symbols) -> None:
    for call in calls_in(module):
        parts = _parts(call)
        if parts is not None:
            to_manual_computation(parts, symbols)
    erase_unused(_borders(module))


def _borders(module: ModuleOp) -> list[Operation]:
    """What cuts tensors into the user's parts, and joins them."""
    return [op for op in find_ops(module, CUSTOM_CALL) if call_target(op) in (FULL_TO_SHARD, SHARD_TO_FULL)]


def _parts(call: Operation) -> ManualCall | None:
    """The shard map around a call; None for a call of another kind."""
    before = [producer(operand, FULL_TO_SHARD) for operand in call.operands]
    after = [_full_results(result) for result in call.results]
    entering = [op for op in before if op is not None]
    leaving = [op for ops in after for op in ops]
    if not entering and not leaving:
        return None
    if len(entering) != len(before):
        fact = f"expected all operands of the call of @{callee_name(call)} to be made by @{FULL_TO_SHARD}"
        raise error_at(call, ShardyError(fact))
    constraints = [producer(op.operands[0], SHARDING_TARGET) for op in entering]
    inside = _marked_axes([*entering, *_constraints_behind(call)])
    outside = _marked_axes([*leaving, *(op for op in constraints if op)])
    axes = tuple(axis for axis in inside if axis not in outside)
    if not axes:
        fact = f"expected manual axes on what surrounds the call of @{callee_name(call)}"
        raise error_at(call, ShardyError(fact))
    between = [*leaving, *_constraints_behind(call), *entering, *(op for op in constraints if op)]
    return ManualCall(
        call,
        tuple(_source(op.operands[0]) for op in entering),
        tuple(tuple(op.results[0] for op in ops) for ops in after),
        tuple(
            ops[0].results[0].type if ops else result.type
            for ops, result in zip(after, call.results, strict=True)
        ),
        tuple(_in_sharding(op) for op in entering),
        tuple(_out_sharding(ops, call.results[i], entering + leaving) for i, ops in enumerate(after)),
        axes,
        tuple(between),
    )


def _marked_axes(ops: list[Operation]) -> tuple[str, ...]:
    """The manual axes of the first of `ops` that is marked."""
    for op in ops:
        mark = op.attributes.get(MANUAL_AXES)
        if isinstance(mark, ManualAxesAttr):
            return mark.data
    return ()


def _in_sharding(entering: Operation) -> TensorSharding:
    """The sharding that @Sharding demands of the full value, else the one that the value has."""
    value = entering.operands[0]
    constraint = producer(value, SHARDING_TARGET)
    found = constraint_sharding(constraint) if constraint is not None else sharding_of(value)
    if found is None:
        raise error_at(entering, ShardyError("expected an operand with a sharding"))
    return found


def _out_sharding(leaving: list[Operation], result: OpResult, around: list[Operation]) -> TensorSharding:
    """The sharding of the full value; a result that nobody uses keeps its local shape."""
    for op in leaving:
        found = constraint_sharding(op)
        if found is not None:
            return found
    known = [found for op in around if (found := constraint_sharding(op)) is not None]
    return TensorSharding.fully_closed(known[0].mesh, rank_of(result.type))


def _source(value: SSAValue) -> SSAValue:
    """What goes into the @Sharding that made `value`, which the manual computation demands itself."""
    constraint = producer(value, SHARDING_TARGET)
    return value if constraint is None else constraint.operands[0]


def _full_results(result: SSAValue) -> list[Operation]:
    """The @SPMDShardToFullShape behind a result of the call, with a @Sharding between them or not."""
    found: list[Operation] = []
    for user in users(result):
        if call_target(user) == SHARDING_TARGET:
            found += (op for op in users(user.results[0]) if call_target(op) == SHARD_TO_FULL)
        elif call_target(user) == SHARD_TO_FULL:
            found.append(user)
    return found


def _constraints_behind(call: Operation) -> list[Operation]:
    return [u for result in call.results for u in users(result) if call_target(u) == SHARDING_TARGET]
