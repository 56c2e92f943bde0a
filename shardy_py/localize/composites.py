"""Composites are replaced by their decompositions, which are partitioned like the rest of the program.

A composite stands for its decomposition on whole tensors; what its name stands for on parts is unknown.
Shardings inside the decomposition are those that propagation chose there; explicit reshards lead from and to
the tensors around it. Part of `sdy-gather-whole-tensors`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region

from shardy_py.mlir import ir
from shardy_py.mlir.calls import calls_in
from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects.stablehlo import CompositeOp
from shardy_py.mlir.ir import find_ops, operands_of
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.plain import plain
from shardy_py.mlir.symbols import Symbols, functions_of
from shardy_py.mlir.typed import of_kind


def inline_composites(module: ModuleOp) -> None:
    """Inlines all composites, also nested ones, and erases private functions that had no other use."""
    inlined: dict[str, FuncOp] = {}
    symbols = Symbols(module)
    while found := list(find_ops(module, CompositeOp.name)):  # each round resolves a level of nesting
        for composite in found:
            name: str = plain(composite.properties["decomposition"])
            inlined[name] = of_kind(symbols.function(name), FuncOp)
            _inline(composite, inlined[name].body)
    called = {symbols.callee(call) for function in functions_of(module) for call in calls_in(function)}
    for function in inlined.values():
        if function not in called and function.sym_visibility is not None:
            symbols.erase(function)


def _inline(composite: Operation, body: Region) -> None:
    copy = Region()
    clone_region_into(body, copy, {})
    block = copy.blocks[0]
    operands = operands_of(composite)
    for argument, operand in zip(block.args, operands, strict=True):
        ir.replace_uses(argument, operand)
    end = ir.terminator_of(copy)
    assert end is not None
    while (op := block.first_op) is not None and op is not end:
        ir.take_out(op)
        ir.place_before(op, composite)
    results = operands_of(end)
    ir.erase(end)
    replace_by_values(composite, results)
