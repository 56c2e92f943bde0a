"""Recognises texts of other languages that are given for MLIR. Not here: HLO text, which `reader.py` knows.

>>> other_language("import jax\\n", "model.mlir")
'Python'
"""

from __future__ import annotations

import re

from shardy_py.base.errors import Diagnostic, Position, ShardyError

_LOWER = 'jax.jit(f).trace(*arguments).lower(lowering_platforms=("cpu",)).as_text(debug_info=True)'
_BESIDE = "pass the HLO beside it: *.before_optimizations.txt of the same module"
_REMEDIES = {
    "Python": f"run it and pass the function to Program.from_jax or from_torch, or save what {_LOWER} prints",
    "a jaxpr": f"pass the function to Program.from_jax, or save what {_LOWER} prints",
    "JSON": "pass the program itself as MLIR text or bytecode",
    "LLVM IR": "pass the HLO that it was compiled from: a dump has it as *.before_optimizations.txt",
    "a protocol buffer as text": "pass one with an HLO module, or HLO text",
    "the assignment of buffers": _BESIDE,
    "a report of memory or live ranges": _BESIDE,
    "a picture of a graph": f"{_BESIDE}; --xla_dump_hlo_as_text writes it",
}
_STARTS = {
    "Python": re.compile(r'(?:\s*#[^\n]*\n)*\s*(?:import|from|def|class|async|@\w+|"""|r""")[\s\w"]'),
    "a jaxpr": re.compile(r"\s*\{ lambda\b"),
    "JSON": re.compile(r'\s*[\[{]\s*"'),
    "LLVM IR": re.compile(r"\s*(; ModuleID|source_filename = |target (datalayout|triple) )"),
    "a protocol buffer as text": re.compile(
        r"(?:\s*#[^\n]*\n)*\s*(?!module\b)[a-z]\w*(?::\s*(?:[\"{]|[-+\w.]+\s*\n)|\s*\{\s*\n\s*[a-z]\w*(?::\s|\s*\{))"
    ),
    "the assignment of buffers": re.compile(r"\s*BufferAssignment:"),
    "a report of memory or live ranges": re.compile(
        r"\s*(?:HloLiveRange\b|Memory Space: |Total bytes used: )"
    ),
    "a picture of a graph": re.compile(
        r"\s*(?:digraph\b|<!doctype html|<html|<head|<script|<svg)", re.IGNORECASE
    ),
}


def other_language(text: str, file: str) -> str:
    """Returns the name of the language of a text that is not MLIR; empty if it is not recognised."""
    if file.endswith((".py", ".ipynb")):
        return "Python"
    return next((name for name, start in _STARTS.items() if start.match(text)), "")


def explained(error: ShardyError, text: str, file: str, first_line: int) -> ShardyError:
    """Returns the error for a text that could not be read: that it is another language, if it is."""
    language = other_language(text, file)
    if not language:
        return error
    where = Position(file, first_line, 1)
    return ShardyError(Diagnostic("", where, expected="MLIR", got=language, remedy=_REMEDIES[language]))
