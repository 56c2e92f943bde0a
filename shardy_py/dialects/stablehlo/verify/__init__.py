"""StableHLO's verifiers, as tables: what `dialects/verification` runs.

`table.py` has one row an op; the rules stand in a file a family of ops, on types and attributes as `view.py` reads
them. Messages are C++'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from shardy_py.dialects.stablehlo.verify.host import check_composite
from shardy_py.dialects.stablehlo.verify.steps import has_blocks, operand_kinds, result_kinds
from shardy_py.dialects.stablehlo.verify.table import TABLE, Row
from shardy_py.dialects.stablehlo.verify.view import View
from shardy_py.dialects.verification.faults import Check, Faults
from shardy_py.dialects.verification.scope import Scope

__all__ = ["CHECKS", "STRUCTURE", "TABLE", "USES"]


def _check_of(row: Row) -> Check:
    steps = (operand_kinds(row.operands), result_kinds(row.results), has_blocks, *row.steps)

    def check(op: Operation) -> Faults:
        view = View(op)
        for step in steps:
            found = tuple(step(view))
            yield from found
            if found:
                return

    return check


_ALL = {f"stablehlo.{name}": (row, _check_of(row)) for name, row in TABLE.items()}

CHECKS = {name: check for name, (row, check) in _ALL.items() if not row.needs_constants}
"""Checks of an op by its signature."""


def _placed(check: Check) -> Callable[[Any, Scope], Faults]:
    def check_placed(op: Operation, scope: Scope) -> Faults:
        return check(op)

    return check_placed


STRUCTURE = {name: _placed(check) for name, (row, check) in _ALL.items() if row.needs_constants}
"""Checks of an op that look at the constants it takes."""

USES = {"stablehlo.composite": check_composite}
"""Checks of an op that names a function."""
