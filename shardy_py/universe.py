"""The dialects and passes that a stock `xdsl-opt` gets through the entry point `xdsl.universe`.

    xdsl-opt program.mlir -p sdy-propagation-pipeline,canonicalize,sdy-close-shardings

Pipelines are passes here. Warnings are printed to standard error as MLIR prints them, errors are xDSL's
`PassFailedException`, whose text is that of MLIR. A name may belong to one package only, or xDSL refuses all
of them: passes named as one of xDSL's (`canonicalize`) are left out, and `xdsl-opt` runs its own; the
pipelines still use ours.

Not here: the hooks through which xDSL reads, prints and verifies our ops (`mlir/text/xdsl_hooks.py`).
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException

from shardy_py.base.errors import Diagnostic, ShardyError, are_warnings_collected, collected_warnings
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.registry import DIALECTS
from shardy_py.mlir.text.source import render_all
from shardy_py.passes import PASSES, PassRow
from shardy_py.passes.pipelines import PIPELINES, PipelineRow
from shardy_py.passes.runner import run_passes


def _pass_class(row: PassRow | PipelineRow) -> type[ModulePass]:
    """The pass or pipeline as a pass of xDSL, whose fields are the options and whose errors are xDSL's."""

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        try:
            with _printed_warnings():
                if isinstance(row, PassRow):
                    row.run(op, self)
                else:
                    run_passes(op, row.expand_with(self))
        except ShardyError as error:
            failure = PassFailedException(_text(error.diagnostics))
        else:
            return
        raise failure  # here, so that no traceback of ours goes before xDSL's

    bases = (row.options_class, ModulePass) if row.options_class else (ModulePass,)
    members = {"name": row.name, "apply": apply, "__doc__": row.summary, "__module__": __name__}
    return dataclass(frozen=True)(ABCMeta(row.name, bases, members))


_SPLIT_MARKER = "\n// -----"


@contextmanager
def _printed_warnings() -> Generator[None]:
    """Prints warnings given within to standard error, unless `collected_warnings` around takes them."""
    if are_warnings_collected():
        yield
        return
    with collected_warnings() as warnings:
        try:
            yield
        finally:
            if warnings:
                print(_text(warnings), file=sys.stderr)


def _text(diagnostics: Sequence[Diagnostic]) -> str:
    """Diagnostics as MLIR prints them, with the lines of the files that can be read.

    Of a file that `xdsl-opt` has split, which counts the lines of each part from 1, none are shown.
    """
    sources: dict[str, str] = {}
    for name in {diagnostic.where.file for diagnostic in diagnostics if diagnostic.where}:
        with suppress(OSError, ValueError):  # `<stdin>`, or text that does not name a file
            text = Path(name).read_text()
            if _SPLIT_MARKER not in text:
                sources[name] = text
    return render_all(diagnostics, sources)


SHARDY = Universe(
    all_dialects=dict(DIALECTS),
    all_passes={
        row.name: partial(_pass_class, row)
        for row in (*PASSES, *PIPELINES)
        if row.name not in get_all_passes()
    },
)
"""The dialects of this package by name, and its passes and pipelines; each imported when it is used."""
