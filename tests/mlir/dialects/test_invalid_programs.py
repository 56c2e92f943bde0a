"""The invalid programs of `filecheck/dialects`: complete, and faulted as the C++ faults them.

That `sdy-opt` gives the diagnostics in their comments is filecheck's test; here the C++ must give them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from shardy_py.cli.expectations import read_expectations
from shardy_py.mlir.dialects import check, chlo, interpreter, stablehlo
from shardy_py.mlir.dialects.kinds import ANY_TYPE
from shardy_py.mlir.dialects.op_table import OpTable

FOLDER = Path(__file__).resolve().parents[3] / "filecheck" / "dialects"
FILES = sorted(
    path
    for path in FOLDER.glob("*/invalid*.mlir")
    if path.stem not in ("invalid_attributes", "invalid_forms")  # what cannot be read: tests/mlir/text
)

NEWER = {
    "collective_broadcast": "jaxlib's has one operand and result",
    "collective_reduce": "jaxlib has no such op",
    "unreduced=": "jaxlib has no reductions but sums, and lets unreduced axes come and go",
    "special factors": "a rule's lists are checked while they are read: the place is the rule's",
    "index must be less than": "as above",
    "a factor can only be in one of": "as above",
    "for callee: expected": "jaxlib of JAX 0.10 does not count",
    "check.": "jaxlib has no such dialect",
    "interpreter.": "jaxlib has no such dialect",
    "a single-device sharding can": "jaxlib 0.10 calls it maximal",
    "sdy.func_data_flow_edge": "jaxlib looks for the values of its edges at the op itself",
}
"""Where jaxlib differs: what stands in the program or its messages, and why."""

UNSAFE = {"must take 0 parameters": "jaxlib reads an operand that is not there, and may end the process"}
"""What jaxlib is not asked: what stands in the program, and why."""

NO_FAULT_OF_ITS_OWN = frozenset({"stablehlo.return"})
"""Ops whose every fault is one of the ops around them."""


def _chunks(path: Path) -> list[str]:
    return re.split(r"^// -----.*\n", path.read_text(), flags=re.MULTILINE)


CASES = [
    pytest.param(chunk, id=f"{path.parent.name}/{path.stem}/{index}")
    for path in FILES
    for index, chunk in enumerate(_chunks(path))
]


def _verified(table: OpTable) -> set[str]:
    """The ops whose rows state something that operands, results or symbols must satisfy."""
    rows = table.rows.values()
    slots = {row.name: (*row.operands, *row.results) for row in rows}
    names = [
        row.name
        for row in rows
        if row.verify or row.infer or any(s.kind is not ANY_TYPE for s in slots[row.name])
    ]
    return {f"{table.dialect}.{name}" for name in names}


def test_every_op_has_an_invalid_program() -> None:
    text = "\n".join(path.read_text() for path in FILES)
    tables = (stablehlo.OPS, chlo.OPS, check.OPS, interpreter.OPS)
    missing = {name for table in tables for name in _verified(table) if name not in text}
    assert not missing - NO_FAULT_OF_ITS_OWN, missing


def _reference_faults(reference: Any, text: str) -> list[tuple[int, str]]:
    with reference.context() as context:
        context.emit_error_diagnostics = False
        try:
            reference.ir.Module.parse(text)
        except reference.ir.MLIRError as error:
            return [(int(str(d.location).split(":")[-2]), d.message) for d in error.error_diagnostics]
    return []


@pytest.mark.parametrize("text", CASES)
def test_faults_as_the_reference(reference: Any, text: str) -> None:
    expected = [(e.line, e.text) for e in read_expectations(text, "-") if e.severity == "error"]
    if unsafe := next((why for mark, why in UNSAFE.items() if mark in text), ""):
        pytest.skip(unsafe)
    found = _reference_faults(reference, text)
    if any(mark in text for mark in NEWER) and found != expected:
        pytest.skip("newer than jaxlib: " + next(why for mark, why in NEWER.items() if mark in text))
    assert found == expected
