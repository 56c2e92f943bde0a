"""A propagated program as XLA partitions it: its calls are inlined first.

Not here: the blocks that are planned (`from_program.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import OpResult

from shardy_py.mlir.cloning import clone
from shardy_py.mlir.ir import find_ops, walk_pre_order
from shardy_py.mlir.movements import Copies, recorded
from shardy_py.mlir.value_table import ValueTable
from shardy_py.passes import pipelines
from shardy_py.passes.runner import run_passes
from shardy_py.xla.spmd.from_program import Again, SpmdProgram


def spmd_program(
    module: ModuleOp, *, is_planned: bool = True, table: ValueTable | None = None, again: Again | None = None
) -> SpmdProgram:
    """Returns a propagated program as XLA partitions it, with its calls inlined.

    The module itself if it has no calls. is_planned: whether XLA's partitioner adds collectives to it. table:
    of the module, for those who have it. again: as of `SpmdProgram`.
    """
    if not find_ops(module, CallOp.name) if table is None else CallOp not in table.op_classes:
        return SpmdProgram(module, is_planned=is_planned, table=table, again=again)
    copy = clone(module, {})
    sources = dict(zip(walk_pre_order(copy), walk_pre_order(module), strict=True))
    with recorded() as events:
        run_passes(copy, pipelines.inline_call_passes(), verify="never")
    for event in events:
        for old, new in event.values.items() if isinstance(event, Copies) else ():
            if isinstance(old, OpResult) and isinstance(new, OpResult) and old.op in sources:
                sources[new.op] = sources[old.op]
    return SpmdProgram(copy, sources, is_planned, again=again)
