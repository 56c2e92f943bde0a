"""An op is described by two rows: its dialect's and its row in `ops/`; other code does not name it."""

from __future__ import annotations

import ast
from pathlib import Path

import shardy_py
from shardy_py.dialects import chlo, sdy, stablehlo
from shardy_py.ops import TABLE
from shardy_py.text.builtin_forms import BUILTIN, FUNC

PACKAGE = Path(shardy_py.__file__).parent
DESCRIBED = {name for name in TABLE if "@" not in name and not name.startswith(("hlo.", "mine."))}
WITHOUT_CLASS = {"linalg.generic"}
"""Rows of ops of dialects that are not in this package."""

DESCRIPTIONS = ("ops/", "dialects/", "text/builtin_forms.py", "hlo/opcodes.py")
"""Where ops are described: rows, classes, syntax, verifiers; HLO opcodes whose names differ from the op's."""

ANCHOR = "the syntax of pipelines names the anchor of passes: `builtin.module(...)`"
LEFT: dict[str, tuple[int, str]] = {
    "cli/pass_text.py": (6, ANCHOR),
    "frontends/jax.py": (1, "whether the text of a program, not yet read, has a mesh"),
    "passes/__init__.py": (1, ANCHOR),
    "passes/meshes.py": (5, "an order: that in which C++ names the meshes of these ops"),
    "passes/registration.py": (2, ANCHOR),
    "report/explain/explanation.py": (1, "a record of names, without the IR"),
}
"""Names of ops in other files: the most there may be, and why. Entries may only shrink."""


def test_every_op_of_the_dialects_has_a_row_and_every_row_an_op() -> None:
    ops = {f"stablehlo.{name}" for name in stablehlo.OPS.rows} | {f"chlo.{name}" for name in chlo.OPS.rows}
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
    more = {place: count for place, count in found.items() if count > LEFT.get(place, (0,))[0]}
    assert not more, "ask a trait or a column of the op's row, or name its class"
    assert LEFT.keys() <= found.keys(), "drop the entries of files that name no op any more"
