"""`xla-inline-calls`: inlines calls and composites, and erases functions that are not called any more.

    before  %0 = call @f(%a)        func.func private @f(%b) { %1 = sine %b; return %1 }
    after   %0 = sine %a

Calls with the frontend attribute `inlineable = "false"` stay, as in XLA's CallInliner.
"""

from __future__ import annotations

from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.dialects.stablehlo import CompositeOp
from shardy_py.graph.calls import calls_in, functions_bottom_up
from shardy_py.graph.cloning import clone_region_into
from shardy_py.graph.movements import replace_op
from shardy_py.graph.plain import plain
from shardy_py.graph.symbols import Symbols
from shardy_py.ir import (
    blocks_of,
    build_operation,
    erase,
    find_ops,
    operands_of,
    place_before,
    replace_uses,
    take_out,
    terminator_of,
    walk_pre_order,
)
from shardy_py.text.source import call_site
from shardy_py.xla.order_ops import mark_late


def inline_calls(module: ModuleOp) -> None:
    """Inlines calls and composites."""
    symbols = Symbols(module)
    for composite in find_ops(module, CompositeOp.name):
        _replace_by_call(composite)
    inlined: set[Operation] = set()
    kept: set[Operation] = set()
    for function in functions_bottom_up(module):
        for call in calls_in(function):
            callee = symbols.callee(call)
            if _is_inlineable(call, callee):
                _inline(call, callee.regions[0])
                inlined.add(callee)
            else:
                kept.add(callee)
    for function in inlined - kept:
        symbols.erase(function)


def _replace_by_call(composite: Operation) -> None:
    callee: dict[str, Attribute] = {"callee": SymbolRefAttr(plain(composite.properties["decomposition"]))}
    types = [result.type for result in composite.results]
    call = build_operation(CallOp, operands_of(composite), types, callee, {}, composite.location)
    replace_op(composite, call)


def _is_inlineable(call: Operation, callee: Operation) -> bool:
    frontend = call.attributes.get("mhlo.frontend_attributes")
    is_kept = frontend is not None and plain(frontend).get("inlineable") == "false"
    body = callee.regions[0]
    return not is_kept and body.first_block is not None and body.first_block is body.last_block


def _inline(call: Operation, body: Region) -> None:
    copy = Region()
    clone_region_into(body, copy, {})
    block = copy.blocks[0]
    for argument, operand in zip(block.args, operands_of(call), strict=True):
        replace_uses(argument, operand)
    end = terminator_of(copy)
    assert end is not None
    _set_call_site(block, call.location)
    mark_late(block)
    while (op := block.first_op) is not None and op is not end:
        take_out(op)
        place_before(op, call)
    for result, value in zip(call.results, operands_of(end), strict=True):
        replace_uses(result, value)
    erase(end)
    erase(call)


def _set_call_site(block: Block, caller: Attribute) -> None:
    """Gives all ops in `block` locations that were called from `caller`.

    JAX gives ops of its own functions names only: their position in the model is that of the call.
    """
    sites: dict[int, CallSiteLoc] = {}

    def site_of(location: Attribute) -> CallSiteLoc:
        site = sites.get(id(location))
        if site is None:
            site = sites[id(location)] = call_site(location, caller)
        return site

    for outer in block.ops:
        for op in walk_pre_order(outer):
            op.location = site_of(op.location)
            for inner in blocks_of(op) if op.regions else ():
                for argument in inner.args:
                    argument.location = site_of(argument.location)
