"""Verification of modules: each fault a diagnostic with MLIR's message and the place of its op.

`rules.py` lists the verifiers of all dialects; `driver.py` and `walk.py` run them. Errors of syntax are
reported by the reader (`text/`).

>>> from shardy_py.dialects import parse_module
>>> str(find_faults(parse_module("func.func @f(%a: f32) -> i32 { return %a : f32 }"))[0])
"-:1:32: error: type of return operand 0 ('f32') doesn't match function result type ('i32') in function @f"
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.dialects.verification.driver import Verifier
from shardy_py.dialects.verification.faults import Fault, Faults, Note, diagnostic
from shardy_py.dialects.verification.rules import normal_form_rules, rules
from shardy_py.errors import Diagnostic, ShardyError

__all__ = ["Fault", "Faults", "Note", "find_faults", "verify_module", "verify_op"]


def find_faults(
    module: ModuleOp, *, every: bool = False, normal_form: bool = False
) -> tuple[Diagnostic, ...]:
    """The faults of a module: the first (or every) one of each function.

    normal_form: whether to check also what holds once manual axes are cleaned up.
    """
    return Verifier(normal_form_rules() if normal_form else rules(), every=every).verify(module)


def verify_op(op: Operation) -> None:
    """Raises a `VerifyException` with the first fault of an op whose regions are sound."""
    for fault in Verifier(rules()).op_faults(op):
        raise VerifyException(diagnostic(fault, op).message)


def verify_module(module: ModuleOp) -> None:
    """Raises a `ShardyError` with the first fault of each function, as MLIR reports them."""
    found = find_faults(module)
    if found:
        raise ShardyError(*found)
