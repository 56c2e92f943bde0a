"""The text of one op within a message, in generic form, on one line."""

from __future__ import annotations

from xdsl.ir import Operation

from shardy_py.text import print_module, syntax_table


def operation_text(op: Operation) -> str:
    """`%0 = "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> ...`, with names as in the function around."""
    root = op
    while (parent := root.parent_op()) is not None and parent.name != "builtin.module":
        root = parent
    lines = print_module(root, syntax=syntax_table(), generic=True).split("\n")
    return next((line.strip() for line in reversed(lines) if f'"{op.name}"' in line), op.name)
