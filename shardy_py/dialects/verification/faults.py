"""Faults, the results of verifiers, and their conversion to diagnostics.

A verifier is a generator: it yields a fault for each rule broken, in the order of its list of rules, and
returns where a fault leaves nothing more to check. It raises nothing and knows no positions.

>>> from xdsl.dialects.builtin import ModuleOp
>>> str(diagnostic(Fault("requires a single operand"), ModuleOp([])))
"error: 'builtin.module' op requires a single operand"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Operation

from shardy_py.errors import Diagnostic
from shardy_py.text.source import position_of


@dataclass(frozen=True, slots=True)
class Note:
    """A remark under a fault, at a place of its own."""

    message: str
    location: Attribute


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule that an op breaks.

    is_plain: the message is complete; otherwise it is prefixed with `'dialect.op' op `.
    op: the op to blame, where that is not the one verified.
    is_followed: whether the next fault of the op is reported along with this one.
    """

    message: str
    is_plain: bool = False
    notes: tuple[Note, ...] = ()
    op: Operation | None = None
    is_followed: bool = False


Faults = Iterator[Fault]
Check = Callable[[Any], Faults]
"""A verifier of an op's class, types, properties and attributes, independent of its surroundings."""


def name_of(op: Operation) -> str:
    """The name of an op as it is written, also of an unregistered one."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def diagnostic(fault: Fault, op: Operation) -> Diagnostic:
    """A fault found on `op`, with the place of the op to blame."""
    blamed = fault.op or op
    message = fault.message if fault.is_plain else f"'{name_of(blamed)}' op {fault.message}"
    notes = tuple(Diagnostic(note.message, position_of(note.location), "note") for note in fault.notes)
    return Diagnostic(message, position_of(blamed.location), notes=notes)
