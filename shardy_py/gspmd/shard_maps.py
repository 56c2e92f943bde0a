"""Manual computations as XLA has them: a call of a private function between custom calls, and back.

    %l = custom_call @ToLocal(%g)                 sdy.manual_computation(%g) ... { body }
    %r = call @body(%l)                     <->
    %h = custom_call @ToGlobal(%r)

`outline_body` moves a body to a function; `to_manual_computation` builds the op from the parts of a call. Not
here: which custom calls there are (the passes `xla-sdy-...-shard-map-import` and `-export`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Operation, Region, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr, ManualComputationOp, ReturnOp, TensorShardingPerValueAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.calls import calls_in
from shardy_py.graph.cloning import clone_region_into
from shardy_py.graph.symbols import Symbols, callee_name
from shardy_py.gspmd.custom_calls import erase_unused
from shardy_py.ir import build_operation, erase, operands_of, place_before, replace_uses
from shardy_py.sharding import TensorSharding

GSPMD_BODY = "shmap_body"
"""The name of functions with the body of a shard map, as JAX has it."""


@dataclass(frozen=True)
class ManualCall:
    """The parts of a manual computation.

    call: of its body.
    operands: the global operands.
    results: for each result of the call, the global values made from it.
    result_types: the global types of the results.
    between: the custom calls around the call, erased with it if nothing else uses them.
    """

    call: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[tuple[SSAValue, ...], ...]
    result_types: tuple[Attribute, ...]
    in_shardings: tuple[TensorSharding, ...]
    out_shardings: tuple[TensorSharding, ...]
    manual_axes: tuple[str, ...]
    between: tuple[Operation, ...]


def to_manual_computation(parts: ManualCall, symbols: Symbols) -> None:
    """Replaces the parts by a manual computation; the function is erased with its last call.

    Raises:
        ShardyError: the numbers of values and shardings differ.
    """
    call = parts.call
    for what, values, expected in (
        ("operands", parts.operands, parts.in_shardings),
        ("results", parts.result_types, parts.out_shardings),
        ("results of its body", parts.result_types, call.results),
        ("operands of its body", parts.operands, call.operands),
    ):
        if len(values) != len(expected):
            raise ShardyError.unexpected(
                f"manual computation, number of {what}", expected=str(len(expected)), got=str(len(values))
            )
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
        regions=[_take_body(call, symbols)],
    )
    place_before(computation, call)
    for new, olds in zip(computation.results, parts.results, strict=True):
        for old in olds:
            replace_uses(old, new)
    erase_unused((*parts.between, call))


def _take_body(call: Operation, symbols: Symbols) -> Region:
    """The body of the callee, ending in `sdy.return`; it is moved if this is the last call, else copied."""
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


def outline_body(
    computation: Operation,
    name: str,
    operands: Sequence[SSAValue],
    symbols: Symbols,
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Moves the body of a manual computation to a private function and calls it before the computation.

    operands: of the call, of the local types. attributes: of the call.
    """
    region = computation.detach_region(0)
    computation.add_region(Region())
    last = region.blocks[0].last_op
    assert last is not None
    returned = list(operands_of(last))
    erase(last)
    call = call_of_body(region, returned, name, operands, symbols, computation.location, attributes)
    place_before(call, computation)
    return call


def call_of_body(
    region: Region,
    returned: Sequence[SSAValue],
    name: str,
    operands: Sequence[SSAValue],
    symbols: Symbols,
    location: Attribute,
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Makes a private function of a region of one block and returns a call of it, in no block.

    returned: the values of the block that the function returns.
    """
    (block,) = region.blocks
    build_operation(FuncReturnOp, returned, (), {}, {}, location, block)
    types = [value.type for value in returned]
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": FunctionType.from_lists([argument.type for argument in block.args], types),
        "sym_visibility": StringAttr("private"),
    }
    function = build_operation(FuncOp, (), (), properties, {}, location, regions=[region])
    callee: dict[str, Attribute] = {"callee": SymbolRefAttr(symbols.insert(function))}
    return build_operation(CallOp, operands, types, callee, dict(attributes or {}), location)
