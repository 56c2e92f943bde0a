"""An op is described by two rows: its dialect's and its row in `ops/`; other code does not name it."""

from __future__ import annotations

import ast
from pathlib import Path

import shardy_py
from shardy_py.dialects import check, chlo, interpreter, sdy, stablehlo
from shardy_py.ops import TABLE
from shardy_py.text.builtin_forms import BUILTIN, FUNC

PACKAGE = Path(shardy_py.__file__).parent
DESCRIBED = {name for name in TABLE if "@" not in name and not name.startswith(("hlo.", "mine."))}
WITHOUT_CLASS = {"linalg.generic"}
"""Rows of ops of dialects that are not in this package."""

DESCRIPTIONS = ("ops/", "compute/", "dialects/", "text/builtin_forms.py", "hlo/opcodes.py")
"""Where ops are described: rows, computations, classes, syntax, verifiers; HLO opcodes by other names."""

LEFT: dict[str, tuple[int, str]] = {
    "passes/registration.py": (
        2,
        "the syntax of pipelines: `builtin.module(...)`, read without loading xDSL",
    ),
}
"""The number of names of ops in other files, and why. Entries may only shrink."""


def test_every_op_of_the_dialects_has_a_row_and_every_row_an_op() -> None:
    tables = (stablehlo.OPS, chlo.OPS, check.OPS, interpreter.OPS)
    ops = {f"{table.notation.dialect}.{name}" for table in tables for name in table.rows}
    ops |= {op.name for op in sdy.Sdy.operations}
    ops |= {name for name in DESCRIBED if BUILTIN.op(name) or FUNC.op(name)}
    assert ops == DESCRIBED - WITHOUT_CLASS


def test_only_descriptions_name_ops() -> None:
    found: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(DESCRIPTIONS):
            nodes = ast.walk(ast.parse(path.read_text()))
            count = sum(isinstance(node, ast.Constant) and node.value in DESCRIBED for node in nodes)
            if count:
                found[place] = count
    allowed = {place: count for place, (count, _) in LEFT.items()}
    assert found == allowed, "ask a trait or a column of the op's row, or name its class; drop stale entries"
