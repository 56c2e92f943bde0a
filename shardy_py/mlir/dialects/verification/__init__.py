"""Verification of modules: each fault a diagnostic with MLIR's message and the place of its op.

`rules.py` lists the verifiers of all dialects; `driver.py` and `walk.py` run them. Errors of syntax are
reported by the reader (`mlir/text/`).

>>> from shardy_py.mlir.dialects import parse_module
>>> str(find_faults(parse_module("func.func @f(%a: f32) -> i32 { return %a : f32 }"))[0])
"-:1:32: error: type of return operand 0 ('f32') doesn't match function result type ('i32') in function @f"
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.dialects.faults import Fault, diagnostic
from shardy_py.mlir.dialects.verification.driver import Verifier
from shardy_py.mlir.dialects.verification.rules import rules
from shardy_py.mlir.text.recipes import Repeats

__all__ = ["find_faults", "verify_module", "verify_op"]


def find_faults(module: ModuleOp, repeats: Repeats | None = None) -> tuple[Diagnostic, ...]:
    """The first fault of the module and of each isolated op in it, such as a function.

    repeats: known repetitions of ops, from the reader of a module that has not changed since.
    """
    return Verifier(rules(), repeats or {}).verify(module)


def verify_op(op: Operation) -> None:
    """Raises a `VerifyException` with the first fault of an op whose regions are sound."""
    try:
        Verifier(rules(), {}).check_op(op)
    except Fault as fault:
        raise VerifyException(diagnostic(fault, op).message) from None


def verify_module(module: ModuleOp, repeats: Repeats | None = None) -> None:
    """Raises a `ShardyError` with the first fault of each function, as MLIR reports them."""
    if faults := find_faults(module, repeats):
        raise ShardyError(*faults)
