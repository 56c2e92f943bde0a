"""Verifiers from the rows of a dialect, as `verification/` runs them.

A check runs the rules of a row in order; the first violation ends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from xdsl.ir import Attribute, Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.definition import Infer, OpRow
from shardy_py.mlir.dialects.faults import NOT_INFERRED, Check, Fault, check_terminators, inferred_fault
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor, read_tensor
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.verification.declared import check_shares, region_names
from shardy_py.mlir.dialects.verification.driver import PlacedCheck
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.text.attribute_writer import attribute_text


@dataclass(frozen=True)
class Checks:
    """Checks by the op's full name, as in `verification.driver.Rules`."""

    signature: dict[str, Check] = field(default_factory=dict[str, Check])
    results: dict[str, Check] = field(default_factory=dict[str, Check])
    structure: dict[str, PlacedCheck] = field(default_factory=dict[str, PlacedCheck])
    symbols: dict[str, PlacedCheck] = field(default_factory=dict[str, PlacedCheck])


def checks_of(tables: Iterable[OpTable]) -> Checks:
    """The checks of all ops of some dialects.

    Those of ops that look at constants are not remembered by signature, so they belong to `structure`.
    """
    checks = Checks()
    for table in tables:
        for row in table.rows.values():
            name = f"{table.dialect}.{row.name}"
            if row.needs_constants:
                checks.structure[name] = _placed(row)
            else:
                checks.signature[name] = rules_check(row)
                if row.infer is not None or row.ends_with:
                    checks.results[name] = _results_check(row)
            if row.verify_symbols is not None:
                checks.symbols[name] = row.verify_symbols
    return checks


def rules_check(row: OpRow) -> Check:
    """Checks regions and the rules of a row."""

    def check(op: Operation) -> None:
        for index, (name, region) in enumerate(zip(region_names(op), op.regions, strict=False)):
            if name is not None and len(region.blocks) != 1:
                raise Fault(f"region #{index} ('{name}') failed to verify constraint: region with 1 blocks")
        view = View(op)
        for rule in row.verify:
            rule(view)
        check_shares(op)

    return check


def _placed(row: OpRow) -> PlacedCheck:
    checks = rules_check(row), _results_check(row)

    def check(op: Operation, scope: Scope) -> None:
        for part in checks:
            part(op)

    return check


def _results_check(row: OpRow) -> Check:
    """Checks how regions end, and that the results have the types that are inferred."""
    infer = None if row.infer is None else results_check(row.infer)

    def check(op: Operation) -> None:
        if row.ends_with:
            check_terminators(op, row.ends_with)
        if infer is not None:
            infer(op)

    return check


def results_check(infer: Infer) -> Check:
    """Checks that the results have the types that are inferred."""

    def check(op: Operation) -> None:
        view = View(op)
        try:
            expected = infer(view)
        except Fault as fault:
            raise Fault(str(fault), is_plain=True, follow_up=NOT_INFERRED) from None
        given = view.result_types
        pairs = zip(expected, given, strict=False)
        if len(expected) != len(given) or not all(_matches(wanted, type_) for wanted, type_ in pairs):
            raise inferred_fault(map(_text, expected), map(_text, given))

    return check


def _matches(expected: RankedTensor | Attribute, given: Attribute) -> bool:
    tensor = read_tensor(given)
    wanted = read_tensor(expected) if isinstance(expected, Attribute) else expected
    if wanted is not None and tensor is not None:
        return wanted.is_compatible(tensor)
    return expected == given


def _text(type_: RankedTensor | Attribute) -> str:
    return str(type_) if isinstance(type_, RankedTensor) else f"'{attribute_text(type_)}'"
