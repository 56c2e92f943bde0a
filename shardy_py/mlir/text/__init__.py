"""Text to IR and back: a reader and a printer of MLIR that cost a dictionary look-up an op.

Dialects register what they know through `syntax.py`; `shardy_py.mlir.dialects` joins reader and printer
with the dialects of this package.
"""

from shardy_py.mlir.text.module_reader import read_module
from shardy_py.mlir.text.syntax import (
    AssemblyForm,
    AttributeSyntax,
    DialectSyntax,
    OpParts,
    OpSyntax,
    SyntaxTable,
    syntax_table,
)
from shardy_py.mlir.text.writer import print_module

__all__ = [
    "AssemblyForm",
    "AttributeSyntax",
    "DialectSyntax",
    "OpParts",
    "OpSyntax",
    "SyntaxTable",
    "print_module",
    "read_module",
    "syntax_table",
]
