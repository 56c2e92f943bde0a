"""Reads MLIR bytecode: `read_bytecode` is the way in."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import Diagnostic, ShardyError, WholeFile
from shardy_py.base.session import SESSION
from shardy_py.mlir.bytecode.builtin import BUILTIN
from shardy_py.mlir.bytecode.entries import Encodings, Entries
from shardy_py.mlir.bytecode.hlo import CHLO, STABLEHLO
from shardy_py.mlir.bytecode.ir_section import IrReader
from shardy_py.mlir.bytecode.quant import QUANT
from shardy_py.mlir.bytecode.resources import read_resources
from shardy_py.mlir.bytecode.sdy import SDY
from shardy_py.mlir.bytecode.sections import read_file
from shardy_py.mlir.bytecode.vhlo import VHLO
from shardy_py.mlir.dialects import syntax_table
from shardy_py.mlir.dialects.registry import RUNTIME_DIALECTS
from shardy_py.mlir.text.cursor import MAX_NESTING
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.location_syntax import UNKNOWN
from shardy_py.mlir.text.resources import whole_module
from shardy_py.mlir.text.syntax import SyntaxTable

ENCODINGS: dict[str, Encodings] = {
    "builtin": BUILTIN,
    "chlo": CHLO,
    "quant": QUANT,
    "sdy": SDY,
    "stablehlo": STABLEHLO,
    "vhlo": VHLO,
}
"""The encodings of dialects; others keep attributes as text."""


def read_bytecode(data: bytes, file: str = "-", *, allow_unregistered: bool = False) -> ModuleOp:
    """Returns the module in MLIR bytecode of any version; VHLO of any version becomes StableHLO.

    allow_unregistered: keeps ops of unregistered dialects. Nothing is verified.

    Raises:
        ShardyError: the data is damaged, or holds what is unknown here: `file: error: at byte N: ...`.
    """
    try:
        with SESSION.program(is_read=True), deep_stack():
            return _module(data, allow_unregistered=allow_unregistered)
    except ShardyError as error:
        what = f"MLIR bytecode {error.first.message}"
        raise ShardyError(replace(error.first, what=what, where=WholeFile(file))) from None
    except RecursionError:
        what = f"MLIR bytecode: nesting exceeds {MAX_NESTING} levels"
        raise ShardyError(Diagnostic(what, WholeFile(file))) from None


def _module(data: bytes, *, allow_unregistered: bool) -> ModuleOp:
    syntax: SyntaxTable = syntax_table()
    if allow_unregistered:
        syntax = syntax.without(RUNTIME_DIALECTS)
    file = read_file(data)
    entries = Entries(file, ENCODINGS, syntax, allow_unregistered=allow_unregistered)
    resources, entries.handles = read_resources(file)
    top = IrReader(file, entries, syntax, allow_unregistered=allow_unregistered).top()
    return whole_module(top, UNKNOWN, resources)
