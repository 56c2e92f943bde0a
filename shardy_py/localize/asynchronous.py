"""Asynchronous ops whose parts take more than one op run at their start.

    before  %0 = "stablehlo.async_start"(%a) ({ slice; all_reduce; all_gather; return }) : ... -> future
            %1 = "stablehlo.async_done"(%0)
    after   slice; all_reduce; %1 = all_gather

The region of an `async_start` holds one collective or slice. Reshards around it are in that region, too.
Those with one op stay asynchronous. Part of `sdy-convert-global-to-local`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.movements import is_recording, note_copies, replace_by_values

_START, _DONE = op_class("async_start").name, op_class("async_done").name


def inline_several(module: ModuleOp) -> None:
    """Inlines asynchronous ops whose region holds several ops; not those whose future goes elsewhere."""
    for start in list(ir.find_ops(module, _START)):
        uses = [use.operation for use in start.results[0].uses]
        if len(list(start.regions[0].blocks[0].ops)) > 2 and all(user.name == _DONE for user in uses):
            _inline(start, uses)


def _inline(start: Operation, dones: list[Operation]) -> None:
    region, operands = start.regions[0], ir.operands_of(start)
    end = ir.terminator_of(region)
    assert end is not None
    for done in dones:
        replace_by_values(done, ir.operands_of(end))
    if is_recording():
        note_copies(dict(zip(region.blocks[0].args, operands, strict=True)))
    ir.inline_region(start, region, operands)
