"""The verifiers of StableHLO and CHLO, as tables: what `dialects/verification` runs.

`table.py` has one row an op; the rules stand in a file a family of ops, on types and attributes as `view.py`
reads them. Messages are C++'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from shardy_py.dialects.stablehlo.verify.chlo import CHLO
from shardy_py.dialects.stablehlo.verify.host import check_composite
from shardy_py.dialects.stablehlo.verify.mesh_groups import MESH_USERS, check_mesh_groups
from shardy_py.dialects.stablehlo.verify.steps import (
    Step,
    has_blocks,
    operand_kinds,
    result_kinds,
    results_are,
)
from shardy_py.dialects.stablehlo.verify.table import TABLE, Row
from shardy_py.dialects.stablehlo.verify.view import View
from shardy_py.dialects.verification.faults import Check, Faults
from shardy_py.dialects.verification.scope import Scope

__all__ = ["CHECKS", "CHLO", "RESULTS", "STRUCTURE", "TABLE", "USES"]


def _run(steps: Sequence[Step]) -> Check:
    def check(op: Operation) -> Faults:
        view = View(op)
        for step in steps:
            found = tuple(step(view))
            yield from found
            if found:
                return

    return check


def _rules_of(row: Row) -> tuple[Step, ...]:
    return (operand_kinds(row.operands), result_kinds(row.results), has_blocks, *row.steps)


def _results_of(row: Row) -> tuple[Step, ...]:
    return (results_are(row.infer),) if row.infer is not None else ()


def _placed(check: Check) -> Callable[[Any, Scope], Faults]:
    def check_placed(op: Operation, scope: Scope) -> Faults:
        return check(op)

    return check_placed


_ROWS = {
    **{f"stablehlo.{name}": row for name, row in TABLE.items()},
    **{f"chlo.{name}": row for name, row in CHLO.items()},
}
_BY_SIGNATURE = {name: row for name, row in _ROWS.items() if not row.needs_constants}
_BY_CONSTANTS = {name: row for name, row in _ROWS.items() if row.needs_constants}

CHECKS = {name: _run(_rules_of(row)) for name, row in _BY_SIGNATURE.items()}
"""Checks of an op by its signature."""

RESULTS = {name: _run(_results_of(row)) for name, row in _BY_SIGNATURE.items() if row.infer is not None}
"""Checks of an op's results, when its regions are known to be sound."""

STRUCTURE = {name: _placed(_run((*_rules_of(row), *_results_of(row)))) for name, row in _BY_CONSTANTS.items()}
"""Checks of an op that look at the constants it takes."""

USES = {"stablehlo.composite": check_composite, **dict.fromkeys(MESH_USERS, check_mesh_groups)}
"""Checks of an op that names a function or a mesh."""
