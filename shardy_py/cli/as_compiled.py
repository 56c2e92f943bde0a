"""`--as-compiled` and `--as-written`, of all commands that read programs.

XLA changes a program of JAX before it propagates shardings, so that its inner values get other shardings than
those of the text. Not here: those changes (`xla/`), whether JAX wrote a program (`xla/written_by_jax.py`).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from shardy_py.cli.shell import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from xdsl.dialects.builtin import ModuleOp

AS_COMPILED = "Change the program first as XLA does before it propagates"
AS_WRITTEN = "Take a program of JAX as it is written"
_REMARK = "remark: a program of JAX, propagated as JAX's compiler does; --as-written: as it is written"


def add_flags(parser: argparse.ArgumentParser, *, default: bool | None = False) -> None:
    """Adds both flags, of which one may be given: `as_compiled` is True, False or `default`.

    default: None: a program of JAX is compiled, any other is not.
    """
    of_jax = "default for programs of JAX"
    group = parser.add_mutually_exclusive_group()
    compiled = f"{_lower(AS_COMPILED)}{f' ({of_jax})' if default is None else ''}"
    written = f"{_lower(AS_WRITTEN)}{'' if default is None else ' (default)'}"
    group.add_argument("--as-compiled", action="store_true", default=default, help=compiled)
    group.add_argument(
        "--as-written", action="store_false", dest="as_compiled", default=default, help=written
    )


def compiled(module: ModuleOp, file: str, as_compiled: bool | None) -> ModuleOp:
    """Returns the module, changed in place if `as_compiled`, or if it is None and JAX wrote the module.

    In the latter case a remark on standard error says so.
    """
    from shardy_py.passes.pipelines import before_propagation_passes
    from shardy_py.passes.runner import run_passes

    if as_compiled is None:
        as_compiled = decided(module, file, log)
    return run_passes(module, before_propagation_passes()) if as_compiled else module


def decided(module: ModuleOp, file: str, write: Callable[[str], object]) -> bool:
    """Returns whether JAX wrote the module, and writes a remark if so."""
    from shardy_py.xla.written_by_jax import is_written_by_jax

    if not is_written_by_jax(module):
        return False
    write(f"{file}: {_REMARK}\n")
    return True


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
