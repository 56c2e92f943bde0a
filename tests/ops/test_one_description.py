"""An op is described by two rows: its dialect's and its row in `ops/`; other code does not name it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import shardy_py
from shardy_py.mlir.dialects import check, chlo, interpreter, sdy, stablehlo
from shardy_py.mlir.text.builtin_forms import BUILTIN, FUNC
from shardy_py.ops import TABLE
from tools.measure_house import op_tables

PACKAGE = Path(shardy_py.__file__).parent
DESCRIBED = {name for name in TABLE if "@" not in name and not name.startswith(("hlo.", "mine."))}
WITHOUT_CLASS = {"linalg.generic"}
"""Rows of ops of dialects that are not in this package."""

FACETS = (
    "localize/facet.py",
    "run/interpret/facet.py",
    "run/proof/facet.py",
    "run/proof/field/facet.py",
    "xla/buffers/facet.py",
    "xla/targets/gpu/facet.py",
    "xla/spmd/facet.py",
    "xla/targets/facet.py",
)
"""One table an engine; that of `ops/compute/` is made of those of its modules."""
WORDS = re.compile(r"[\w.]+")

DESCRIPTIONS = (
    "ops/",
    "mlir/dialects/",
    "mlir/text/builtin_forms.py",
    "mlir/bytecode/properties.py",
    "mlir/bytecode/vhlo_ops.py",
    "hlo/text/opcodes.py",
    "hlo/to_stablehlo/",
    "passes/table/",
    *FACETS,
)
"""Where ops are described: rows, facets, classes, syntax, encodings, verifiers, opcodes of HLO, passes."""

LEFT: dict[str, tuple[int, str]] = {
    "passes/registration.py": (
        2,
        "the syntax of pipelines: `builtin.module(...)`, read without loading xDSL",
    ),
    "run/proof/field/conversions.py": (3, "ops whose results are exact in the formats of their operands"),
    "frontends/jax_devices.py": (1, "functions in a module of MLIR's Python bindings"),
}
"""The number of names of ops in other files, and why. Entries may only shrink."""

TABLES: dict[str, tuple[int, str]] = {
    "frontends/torch/gradients.py": (1, "the ops behind which PyTorch's gradients are parameters"),
    "passes/export/reshard_insertion.py": (2, "the ops that Shardy's explicit reshards treat by themselves"),
    "propagation/graph/build.py": (1, "the ops of sdy that propagation treats by themselves"),
    "propagation/graph/run_record.py": (1, "the data-flow edges of sdy"),
    "xla/gspmd/passes/shardy_attributes.py": (2, "the ops whose shardings Shardy's import restores"),
}
"""The number of tables with names or classes of ops in other files, and why. Entries may only shrink."""


def test_every_op_of_the_dialects_has_a_row_and_every_row_an_op() -> None:
    tables = (stablehlo.OPS, chlo.OPS, check.OPS, interpreter.OPS)
    ops = {f"{table.dialect}.{name}" for table in tables for name in table.rows}
    ops |= {op.name for op in sdy.Sdy.operations}
    ops |= {name for name in DESCRIBED if BUILTIN.op(name) or FUNC.op(name)}
    assert ops == DESCRIBED - WITHOUT_CLASS


def test_only_descriptions_name_ops() -> None:
    found: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(DESCRIPTIONS):
            text = path.read_text()
            if DESCRIBED.isdisjoint(WORDS.findall(text)):
                continue  # most modules; to parse them all takes seconds
            nodes = ast.walk(ast.parse(text))
            count = sum(isinstance(node, ast.Constant) and node.value in DESCRIBED for node in nodes)
            if count:
                found[place] = count
    allowed = {place: count for place, (count, _) in LEFT.items()}
    assert found == allowed, "ask a trait, a column or a facet, or name its class; drop stale entries"


def may_have_table(text: str) -> bool:
    """Whether a display with two keys or elements that name ops may be in a module: most have none."""
    words = WORDS.findall(text)
    return sum(word in TABLE or word.endswith(("Op", ".name")) for word in words) > 1 and "{" in text


def test_tables_of_ops_are_facets() -> None:
    texts = {path.relative_to(PACKAGE): path.read_text() for path in PACKAGE.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if may_have_table(text)}
    found = {place: count for place, count in op_tables(trees).items() if not place.startswith(FACETS)}
    allowed = {place: count for place, (count, _) in TABLES.items()}
    assert found == allowed, "make it a field of a facet; drop stale entries"
