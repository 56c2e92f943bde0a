"""`xla-sdy-stablehlo-round-trip-shard-map-import`: converts GSPMD's shard maps to manual computations.

    before  %1 = custom_call @Sharding(%0) {S}
            %2 = custom_call @SPMDFullToShardShape(%1) {manual}
            %3 = call @shmap_body(%2)
            %4 = custom_call @Sharding(%3) {manual}
            %5 = custom_call @SPMDShardToFullShape(%4) {T}
    after   %5 = sdy.manual_computation(%0) in_shardings=[S] out_shardings=[T] manual_axes={...} { ... }

A body that XLA has inlined is outlined first. Requires `xla-sdy-import-shardings`, which converts the
shardings and marks the manual axes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.calls import calls_in
from shardy_py.graph.op_errors import error_at, errors_at
from shardy_py.graph.symbols import Symbols, callee_name
from shardy_py.graph.value_shardings import rank_of, sharding_of
from shardy_py.gspmd.custom_calls import (
    call_target,
    calls_of,
    constraint_sharding,
    erase_unused,
    producer,
    users,
)
from shardy_py.gspmd.encoding import FULL_TO_SHARD, MANUAL_MARK, SHARD_TO_FULL, SHARDING_TARGET
from shardy_py.gspmd.inlined_shard_maps import outline_shard_maps
from shardy_py.gspmd.shard_maps import ManualCall, to_manual_computation
from shardy_py.sharding import TensorSharding


def xla_sdy_stablehlo_round_trip_shard_map_import(module: ModuleOp) -> None:
    """Converts GSPMD's shard maps to manual computations."""
    symbols = Symbols(module)
    _import_calls(module, symbols)
    if calls_of(module, (FULL_TO_SHARD, SHARD_TO_FULL)):
        outline_shard_maps(module, symbols)
        _import_calls(module, symbols)


def _import_calls(module: ModuleOp, symbols: Symbols) -> None:
    for call in calls_in(module):
        with errors_at(call):
            parts = _parts(call)
            if parts is not None:
                to_manual_computation(parts, symbols)
    erase_unused(calls_of(module, (FULL_TO_SHARD, SHARD_TO_FULL)))


def _parts(call: Operation) -> ManualCall | None:
    """The shard map around a call; None for other calls."""
    entries = [op for value in call.operands if (op := producer(value, FULL_TO_SHARD)) is not None]
    exits = [_exits(result) for result in call.results]
    all_exits = [op for ops in exits for op in ops]
    if not entries and not all_exits:
        return None
    if len(entries) != len(call.operands):
        raise ShardyError(f"expected every operand of the call of @{callee_name(call)} from @{FULL_TO_SHARD}")
    sources = [producer(op.operands[0], SHARDING_TARGET) for op in entries]
    constraints = [op for op in sources if op is not None]
    inner_constraints = [op for op in _users(call) if call_target(op) == SHARDING_TARGET]
    inside = _marked_axes([*entries, *inner_constraints])
    outside = _marked_axes([*all_exits, *constraints])
    axes = tuple(axis for axis in inside if axis not in outside)
    if not axes:
        raise ShardyError(f"expected manual axes around the call of @{callee_name(call)}")
    return ManualCall(
        call,
        tuple(
            op.operands[0] if source is None else source.operands[0]
            for op, source in zip(entries, sources, strict=True)
        ),
        tuple(tuple(op.results[0] for op in ops) for ops in exits),
        tuple(
            ops[0].results[0].type if ops else result.type
            for ops, result in zip(exits, call.results, strict=True)
        ),
        tuple(_in_sharding(op) for op in entries),
        tuple(_out_sharding(ops, call.results[i], entries + all_exits) for i, ops in enumerate(exits)),
        axes,
        (*all_exits, *inner_constraints, *entries, *constraints),
    )


def _marked_axes(ops: list[Operation]) -> tuple[str, ...]:
    """The manual axes of the first of `ops` that is marked."""
    marks = (op.attributes.get(MANUAL_MARK) for op in ops)
    return next((mark.data for mark in marks if isinstance(mark, ManualAxesAttr)), ())


def _in_sharding(entry: Operation) -> TensorSharding:
    """The sharding that @Sharding constrains the full value to, else the one of that value."""
    value = entry.operands[0]
    constraint = producer(value, SHARDING_TARGET)
    found = constraint_sharding(constraint) if constraint is not None else sharding_of(value)
    if found is None:
        raise error_at(entry, ShardyError("expected an operand with a sharding"))
    return found


def _out_sharding(exits: list[Operation], result: OpResult, around: list[Operation]) -> TensorSharding:
    """The sharding of the full value; an unused result keeps its local shape."""
    for op in exits:
        found = constraint_sharding(op)
        if found is not None:
            return found
    known = [found for op in around if (found := constraint_sharding(op)) is not None]
    return TensorSharding.fully_closed(known[0].mesh, rank_of(result.type))


def _exits(result: SSAValue) -> list[Operation]:
    """The @SPMDShardToFullShape of a result of the call, directly or through a @Sharding."""
    found: list[Operation] = []
    for user in users(result):
        if call_target(user) == SHARDING_TARGET:
            found += (op for op in users(user.results[0]) if call_target(op) == SHARD_TO_FULL)
        elif call_target(user) == SHARD_TO_FULL:
            found.append(user)
    return found


def _users(op: Operation) -> list[Operation]:
    return [user for result in op.results for user in users(result)]
