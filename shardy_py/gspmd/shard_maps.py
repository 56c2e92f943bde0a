"""Manual computations that a dump holds as a call of a private function between custom calls.

    %l = custom_call @ToLocal(%g); %r = call @body(%l); %h = custom_call @ToGlobal(%r)

`ManualCall` names the parts; `to_manual_computation` makes the op of sdy of them. Not here: how a dump marks
the parts (the passes `xla-sdy-...-shard-map-import`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr, ManualComputationOp, ReturnOp, TensorShardingPerValueAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.calls import calls_in
from shardy_py.graph.cloning import clone_region_into
from shardy_py.graph.op_errors import error_at
from shardy_py.graph.symbols import Symbols, callee_name
from shardy_py.gspmd.frontend_attributes import call_target
from shardy_py.ir import build_operation, erase, operands_of, place_before, replace_uses
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True)
class ManualCall:
    """A manual computation in parts.

    call: of the body.
    operands: the global values that go in.
    results: for each result of the call, the global values that are it.
    result_types: the global types of the results.
    between: the custom calls around it, which go with the call if nobody else uses them.
    """

    call: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[tuple[SSAValue, ...], ...]
    result_types: tuple[Attribute, ...]
    in_shardings: tuple[TensorSharding, ...]
    out_shardings: tuple[TensorSharding, ...]
    manual_axes: tuple[str, ...]
    between: tuple[Operation, ...]


def to_manual_computation(parts: ManualCall, symbols: Symbols) -> Operation:
    """Put a manual computation in place of the parts; the function goes with its last call.

    Raises a `ShardyError` where there are more values than shardings, or the reverse.
    """
    call = parts.call
    for what, values, shardings in (
        ("operands", parts.operands, parts.in_shardings),
        ("results", parts.result_types, parts.out_shardings),
        ("results of its body", parts.result_types, call.results),
        ("operands of its body", parts.operands, call.operands),
    ):
        if len(values) != len(shardings):
            fact = f"is a manual computation with {len(values)} {what}; expected {len(shardings)}"
            raise error_at(call, ShardyError(fact))
    computation = build_operation(
        ManualComputationOp,
        parts.operands,
        parts.result_types,
        {
            "in_shardings": TensorShardingPerValueAttr(parts.in_shardings),
            "out_shardings": TensorShardingPerValueAttr(parts.out_shardings),
            "manual_axes": ManualAxesAttr(parts.manual_axes),
        },
        {},
        call.location,
        regions=[take_body(call, symbols)],
    )
    place_before(computation, call)
    for new, olds in zip(computation.results, parts.results, strict=True):
        for old in olds:
            replace_uses(old, new)
    erase_unused((*parts.between, call))
    return computation


def take_body(call: Operation, symbols: Symbols) -> Region:
    """The body of what `call` calls, ending in `sdy.return`: the function's own if this is its last call."""
    function = symbols.callee(call)
    name = callee_name(call)
    if sum(callee_name(other) == name for other in calls_in(symbols.module)) > 1:
        region = Region()
        clone_region_into(function.regions[0], region, {})
    else:
        region = function.detach_region(0)
        function.add_region(Region())
        symbols.erase(function)
    for block in region.blocks:
        old = block.last_op
        assert old is not None
        build_operation(ReturnOp, operands_of(old), (), {}, {}, old.location, block)
        erase(old)
    return region


def outline(computation: Operation, name: str) -> tuple[Operation, list[Attribute]]:
    """A private function with the body of a manual computation, which loses it, and the types it returns."""
    region = computation.detach_region(0)
    computation.add_region(Region())
    last = region.blocks[0].last_op
    assert last is not None
    returned = list(operands_of(last))
    erase(last)
    return private_function(name, region, returned, computation.location), [value.type for value in returned]


def private_function(
    name: str, region: Region, returned: Sequence[SSAValue], location: Attribute
) -> Operation:
    """A function of one block that returns some of its values, which stands nowhere."""
    (block,) = region.blocks
    build_operation(FuncReturnOp, returned, (), {}, {}, location, block)
    types = [argument.type for argument in block.args], [value.type for value in returned]
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": FunctionType.from_lists(*types),
        "sym_visibility": StringAttr("private"),
    }
    return build_operation(FuncOp, (), (), properties, {}, location, regions=[region])


def users(value: SSAValue) -> list[Operation]:
    """The ops that use `value`, once a use."""
    return [use.operation for use in value.uses]


def producer(value: SSAValue, target: str) -> Operation | None:
    """The custom call of `target` that made `value`; None if something else did."""
    op = value.op if isinstance(value, OpResult) else None
    return op if op is not None and call_target(op) == target else None


def erase_unused(ops: Iterable[Operation]) -> None:
    """Erase those of `ops` that nobody uses, users first."""
    pending = [op for op in dict.fromkeys(ops) if op.parent is not None]
    while dead := [op for op in pending if not any(result.first_use for result in op.results)]:
        for op in dead:
            erase(op)
        pending = [op for op in pending if op not in dead]
