"""Runs passes of `shardy_py.xla.prepare` by name."""

from __future__ import annotations

from shardy_py import Program
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes


def after(names: str, text: str) -> Program:
    """The program after the passes of these names, verified and read back."""
    program = Program.parse(text)
    run_passes(program.module, [pass_call(name) for name in names.split()])
    return Program.parse(program.text(debuginfo=True))
