"""Faults, which verifiers raise, and their conversion to diagnostics.

A verifier checks its list of rules in order and raises a fault at the first that is broken; it knows no
positions.

>>> from xdsl.dialects.builtin import ModuleOp
>>> str(diagnostic(Fault("requires a single operand"), ModuleOp([])))
"error: 'builtin.module' op requires a single operand"
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.ir import written_name
from shardy_py.mlir.text.source import position_of


class Fault(Exception):
    """A rule that an op breaks.

    notes: remarks below it, each with a place of its own.
    is_plain: the message is complete; otherwise it is prefixed with `'dialect.op' op `.
    op: the op to blame, where that is not the one verified.
    follow_up: a second message on the op, reported along with this one; empty if there is none.
    """

    def __init__(
        self,
        message: str,
        *notes: Diagnostic,
        is_plain: bool = False,
        op: Operation | None = None,
        follow_up: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.notes, self.is_plain = message, notes, is_plain
        self.op, self.follow_up = op, follow_up


class ConstructionError(ShardyError, VerifyException):
    """A mistake in the arguments of an op's constructor, or in the value of an attribute.

    The message names the op or attribute, and the argument. It is a `VerifyException` for tools of xDSL.
    """


Check = Callable[[Any], None]
"""A verifier of an op's class, types, properties and attributes, independent of its surroundings."""


NOT_INFERRED = "failed to infer returned types"
"""The follow-up of a fault in the inferred types of results."""


def inferred_fault(inferred: Iterable[str], given: Iterable[str]) -> Fault:
    """The fault of an op whose result types differ from the inferred ones, both as quoted texts."""
    return Fault(
        f"inferred type(s) {', '.join(inferred)} are incompatible with return type(s) of operation "
        f"{', '.join(given)}",
        follow_up=NOT_INFERRED,
    )


def check_terminators(op: Operation, name: str) -> None:
    """Each region of an op ends with a terminator of that name, which its assembly form may leave out."""
    for region in op.regions:
        last = None if region.first_block is None else region.first_block.last_op
        if last is not None and last.name != name:
            implied = f"in custom textual format, the absence of terminator implies '{name}'"
            message = f"expects regions to end with '{name}', found '{written_name(last)}'"
            raise Fault(message, note(implied, op.location))


def note(message: str, location: Attribute) -> Diagnostic:
    """A remark under a fault."""
    return Diagnostic(message, position_of(location), "note")


@contextmanager
def prefixed(prefix: str) -> Generator[None]:
    """Puts `prefix` in front of the message of a fault that is raised within."""
    try:
        yield
    except Fault as fault:
        fault.message = prefix + fault.message
        raise


def diagnostic(fault: Fault, op: Operation) -> Diagnostic:
    """A fault found on `op`, with the place of the op to blame."""
    blamed = fault.op or op
    message = fault.message if fault.is_plain else f"'{written_name(blamed)}' op {fault.message}"
    return Diagnostic(message, position_of(blamed.location), notes=fault.notes)


def diagnostics(fault: Fault, op: Operation) -> tuple[Diagnostic, ...]:
    """The diagnostics of a fault found on `op`: its own, and that of its follow-up."""
    first = diagnostic(fault, op)
    return (first, diagnostic(Fault(fault.follow_up, op=fault.op), op)) if fault.follow_up else (first,)
