"""The dialects and passes that a stock `xdsl-opt` gets through the entry point `xdsl.universe`.

    xdsl-opt program.mlir -p sdy-propagation-pipeline,canonicalize,sdy-close-shardings

Pipelines are passes here. A name may belong to one package only, or xDSL refuses all of them: passes named as
one of xDSL's (`canonicalize`) are left out, and `xdsl-opt` runs its own; the pipelines still use ours.

Not here: the hooks through which xDSL reads, prints and verifies our ops (`mlir/text/xdsl_hooks.py`).
"""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.registry import DIALECTS
from shardy_py.passes import PASSES, PassRow
from shardy_py.passes.pipelines import PIPELINES, PipelineRow
from shardy_py.passes.runner import run_passes


def _pass_class(row: PassRow | PipelineRow) -> type[ModulePass]:
    """The pass or pipeline as a pass of xDSL, whose fields are the options and whose errors are xDSL's."""

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        try:
            if isinstance(row, PassRow):
                row.run(op, self)
            else:
                run_passes(op, row.expand_with(self))
        except ShardyError as error:
            raise PassFailedException(str(error)) from error

    bases = (row.options_class, ModulePass) if row.options_class else (ModulePass,)
    members = {"name": row.name, "apply": apply, "__doc__": row.summary, "__module__": __name__}
    return dataclass(frozen=True)(ABCMeta(row.name, bases, members))


SHARDY = Universe(
    all_dialects=dict(DIALECTS),
    all_passes={
        row.name: partial(_pass_class, row)
        for row in (*PASSES, *PIPELINES)
        if row.name not in get_all_passes()
    },
)
"""The dialects of this package by name, and its passes and pipelines; each imported when it is used."""
