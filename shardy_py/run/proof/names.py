"""The names of values of the whole program in answers: those of the file, else those that are printed.

Not here: values of the local program, which are named as it is printed (`mlir/text/naming.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.mlir.dialects.registry import syntax_table
from shardy_py.mlir.ir import file_names
from shardy_py.mlir.text.naming import ValueNames


def names_in_file(module: ModuleOp) -> Callable[[SSAValue], str]:
    """Returns the function from a value of the module to its name."""
    printed = ValueNames(module, syntax_table()).of
    return lambda value: next(iter(file_names(value)), None) or printed.get(id(value), "a value")


def printed_names(module: ModuleOp) -> Callable[[SSAValue], str]:
    """Returns the function from a value of the module to the name that is printed."""
    printed = ValueNames(module, syntax_table()).of
    return lambda value: printed.get(id(value), "a value")
