"""How much a module may become: computations of fusions and regions are copied for each use.

A module of a few lines can have computations that use the next one twice each. Its size is known before
anything is made.
"""

from __future__ import annotations

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.hlo.text import HloModule, Instruction

MOST_COPIES = 2_000_000
"""Ops that are made at most beyond one per instruction."""
MOST_NESTED = 200
"""Regions and fusions within each other at most."""
_FUNCTIONS = frozenset({"call", "custom-call"})
"""Opcodes whose computations become functions, once."""
_NAMES = (
    *("to_apply", "calls", "condition", "body", "select", "scatter", "true_computation", "false_computation"),
    *("branch_computations", "called_computations"),
)


def check_size(module: HloModule) -> None:
    """Raises `ShardyError` for a module that becomes too large, or nests too deeply."""
    sizes: dict[str, int] = {}
    depths: dict[str, int] = {}
    most = MOST_COPIES + sum(len(computation.instructions) for computation in module.computations)
    for computation in module.computations:
        size, depth = len(computation.instructions), 0
        for instruction in computation.instructions:
            for name in inlined(instruction):
                size += sizes[name]
                depth = max(depth, depths[name] + 1)
            if size > most or depth > MOST_NESTED:
                expected = f"at most {MOST_COPIES:,} copied ops, {MOST_NESTED} levels of nesting"
                got = "more"
                error = ShardyError.unexpected("computations of HLO", expected=expected, got=got)
                raise ShardyError(Diagnostic(error.first.message, instruction.position))
        sizes[computation.name], depths[computation.name] = size, depth


def inlined(instruction: Instruction) -> list[str]:
    """The computations of which an instruction makes copies."""
    if instruction.opcode in _FUNCTIONS:
        return []
    found: list[str] = []
    for key in _NAMES:
        value = instruction.attributes.get(key, ())
        found += (value,) if isinstance(value, str) else value
    return found
