"""Verification of a whole module, with a diagnostic that says where.

Not here: what each op requires (its class in `dialects/`). xDSL's own walk is not used because it prints the
whole IR into its error.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.walk import walk_pre_order
from shardy_py.text.source import position_of


def verify(module: ModuleOp) -> None:
    """Raises a `ShardyError` with the first op that is not valid."""
    for op in walk_pre_order(module):
        try:
            op.verify_()
        except VerifyException as error:
            raise ShardyError(_diagnostic(op, str(error))) from error


def _diagnostic(op: Operation, message: str) -> Diagnostic:
    text = message if message.startswith("'") else f"'{op.name}' op {message}"
    return Diagnostic(text, position_of(op.location))
