"""The passes that inline calls, and order ops as XLA does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.calls import FunctionCopies, bottom_up, calls_by_function
from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects.stablehlo import CompositeOp
from shardy_py.mlir.ir import blocks_of, operands_of
from shardy_py.mlir.movements import note_copies, replace_op
from shardy_py.mlir.nesting import free_values_inside
from shardy_py.mlir.plain import plain
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import call_site
from shardy_py.passes.options import CopyOptions

LATE = "shardy_py.late"
"""The attribute by which `mark_late` marks ops; this pass removes it."""


def order_ops(module: ModuleOp) -> None:
    """`xla-order-ops`: orders ops as XLA reads them back from HLO: operands before their users, depth first.

    before  %0 = sine %a; %1 = cosine %a; return %1, %0
    after   %0 = cosine %a; %1 = sine %a; return %0, %1

    Propagation visits ops in program order, so of two that disagree the first one decides. As
    HloComputation::MakeInstructionPostOrder.
    """
    free = free_values_inside(module)
    for inner in ir.ops_with_regions(module):
        if not isinstance(inner, ModuleOp):
            for block in blocks_of(inner):
                if block.first_op is not None:  # unregistered ops may have empty blocks
                    _order(block, free)


def mark_late(block: Block) -> None:
    """Marks the unused ops of a computation: once it is inlined, they follow the unused ops of the caller."""
    for op in block.ops:
        if op.next_op is not None and all(result.first_use is None for result in op.results):
            op.attributes[LATE] = UnitAttr()


def _order(block: Block, free: Mapping[int, Sequence[SSAValue]]) -> None:
    ops: list[Operation] = list(block.ops)
    ordered = _post_order(ops, block, free)
    if ordered != ops:
        ir.set_order(block, ordered)


def _roots(ops: list[Operation]) -> list[Operation]:
    """The ops without users in HLO: a single result is not in a tuple, inlined ops come last."""
    *body, end = ops
    only_user = end if len(operands_of(end)) == 1 else None
    early: list[Operation] = []
    late: list[Operation] = []
    for op in body:
        for result in op.results:
            use = result.first_use
            while use is not None and ir.user_of(use) is only_user:
                use = ir.next_use(use)
            if use is not None:
                break
        else:
            (early if op.attributes.pop(LATE, None) is None else late).append(op)
    return [*early, end, *late]


def _post_order(
    ops: list[Operation], block: Block, free: Mapping[int, Sequence[SSAValue]]
) -> list[Operation]:
    """Each root after its operands, the first operand first. free: the values that regions use from outside.

    In HLO these are operands after the others.
    """
    end = ops[-1]
    ordered: list[Operation] = []
    placed: set[int] = set()
    stack = _roots(ops)
    stack.reverse()
    waiting: set[int] = set()  # ops whose operands are above them on the stack
    while stack:
        op = stack[-1]
        key = id(op)
        if key not in waiting and key not in placed:
            values = (*operands_of(op), *free[key]) if op.regions else operands_of(op)
            makers: list[Operation] = []
            for value in values:
                if type(value) is OpResult:  # faster than isinstance: an ABC
                    maker = value.op
                    if id(maker) not in placed and maker.parent is block:
                        makers.append(maker)
            if makers:
                waiting.add(key)
                makers.reverse()
                stack += makers
                continue
        stack.pop()
        if key not in placed:
            placed.add(key)
            if op is not end:
                ordered.append(op)
    return [*ordered, end]


def inline_calls(module: ModuleOp) -> None:
    """`xla-inline-calls`: inlines calls and composites, and erases functions that are not called any more.

    before  %0 = call @f(%a)        func.func private @f(%b) { %1 = sine %b; return %1 }
    after   %0 = sine %a

    Calls with the frontend attribute `inlineable = "false"` stay, as in XLA's CallInliner.
    """
    symbols = Symbols(module)
    for composite in ir.find_ops(module, CompositeOp.name):
        _replace_by_call(composite)
    inlined: set[Operation] = set()
    kept: set[Operation] = set()
    calls = calls_by_function(module)
    FunctionCopies(symbols, CopyOptions.max_copied_ops).check(calls)
    for function in bottom_up(calls):
        for call in calls[function]:
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
    call = ir.build_operation(CallOp, ir.operands_of(composite), types, callee, {}, composite.location)
    replace_op(composite, call)


def _is_inlineable(call: Operation, callee: Operation) -> bool:
    frontend = call.attributes.get("mhlo.frontend_attributes")
    is_kept = frontend is not None and plain(frontend).get("inlineable") == "false"
    body = callee.regions[0]
    return not is_kept and body.first_block is not None and body.first_block is body.last_block


def _inline(call: Operation, body: Region) -> None:
    copy = Region()
    copied: dict[SSAValue, SSAValue] = {}
    clone_region_into(body, copy, copied)
    note_copies(copied)
    block = copy.blocks[0]
    for argument, operand in zip(block.args, ir.operands_of(call), strict=True):
        ir.replace_uses(argument, operand)
    end = ir.terminator_of(copy)
    assert end is not None
    _set_call_site(block, call.location)
    mark_late(block)
    while (op := block.first_op) is not None and op is not end:
        ir.take_out(op)
        ir.place_before(op, call)
    for result, value in zip(call.results, ir.operands_of(end), strict=True):
        ir.replace_uses(result, value)
    ir.erase(end)
    ir.erase(call)


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
        for op in ir.walk_pre_order(outer):
            op.location = site_of(op.location)
            for inner in ir.blocks_of(op) if op.regions else ():
                for argument in inner.args:
                    argument.location = site_of(argument.location)
