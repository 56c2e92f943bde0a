"""The dialects and passes that a stock `xdsl-opt` gets through the entry point `xdsl.universe`.

    xdsl-opt program.mlir -p sdy-propagation-pipeline,canonicalize,sdy-close-shardings

Pipelines are passes here. A name may belong to one package only, or xDSL refuses all of them: passes named as
one of xDSL's (`canonicalize`) are left out, and `xdsl-opt` runs its own; the pipelines still use ours.

Not here: the hooks through which xDSL reads, prints and verifies our ops (`text/xdsl_hooks.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException

from shardy_py.dialects.registry import DIALECTS
from shardy_py.errors import ShardyError
from shardy_py.passes import PASSES, PassRow
from shardy_py.passes.pipelines import PIPELINES, PipelineRow
from shardy_py.passes.runner import run_passes

_Apply = Callable[[Any, Context, ModuleOp], object]


def _pass_class(name: str, bases: tuple[type, ...], run: _Apply) -> type[ModulePass]:
    """A pass of that name, whose errors are those of xDSL's passes."""

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        try:
            run(self, ctx, op)
        except ShardyError as error:
            raise PassFailedException(str(error)) from error

    fields = {"name": name, "apply": apply, "__module__": __name__, "__doc__": bases[0].__doc__}
    return cast("type[ModulePass]", type(bases[0].__name__, bases, fields))


def _from_pass(row: PassRow) -> type[ModulePass]:
    pass_class = row.load()
    return _pass_class(row.name, (pass_class,), pass_class.apply)


def _from_pipeline(row: PipelineRow) -> type[ModulePass]:
    def run(self: Any, ctx: Context, op: ModuleOp) -> None:
        run_passes(op, row.expand_with(self) if row.options_class else row.expand())

    bases = (ModulePass,) if row.options_class is None else (row.options_class, ModulePass)
    return _pass_class(row.name, bases, run)


_FACTORIES: dict[str, Callable[[], type[ModulePass]]] = {
    **{row.name: partial(_from_pass, row) for row in PASSES},
    **{row.name: partial(_from_pipeline, row) for row in PIPELINES},
}

SHARDY = Universe(
    all_dialects=dict(DIALECTS),
    all_passes={name: make for name, make in _FACTORIES.items() if name not in get_all_passes()},
)
"""The dialects of this package by name, and its passes and pipelines; each imported when it is used."""
