"""An op is described by two rows: its dialect's and its row in `ops/`; other code does not name it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import shardy_py
from shardy_py.mlir.dialects import check, chlo, interpreter, sdy, stablehlo
from shardy_py.mlir.text.builtin_forms import BUILTIN, FUNC
from shardy_py.ops import TABLE

PACKAGE = Path(shardy_py.__file__).parent
DESCRIBED = {name for name in TABLE if "@" not in name and not name.startswith(("hlo.", "mine."))}
WITHOUT_CLASS = {"linalg.generic"}
"""Rows of ops of dialects that are not in this package."""

WORDS = re.compile(r"[\w.]+")

DESCRIPTIONS = (
    "ops/",
    "ops/compute/",
    "mlir/dialects/",
    "mlir/text/builtin_forms.py",
    "hlo/text/opcodes.py",
    "passes/table/",
)
"""Where ops are described: rows, computations, classes, syntax, verifiers; HLO opcodes; what passes need."""

LEFT: dict[str, tuple[int, str]] = {
    "passes/registration.py": (
        2,
        "the syntax of pipelines: `builtin.module(...)`, read without loading xDSL",
    ),
    "localize/arithmetic/masks.py": (4, "a row an op: what it must not read of padding"),
    "localize/global_to_local.py": (1, "a row an op: its local form"),
    "localize/local_collectives.py": (6, "a row a collective of sdy: its local form"),
    "localize/local_indexed.py": (2, "a row an op: its local form"),
    "localize/local_ops.py": (18, "a row an op: its local form"),
    "localize/local_terms.py": (11, "a row an op: its local form"),
    "localize/local_windows.py": (4, "a row an op: its local form"),
    "localize/padded_ops.py": (14, "a row an op: its form on padded operands"),
    "localize/reduction_factors.py": (2, "the ops whose reductions devices continue"),
    "localize/whole_tensors.py": (10, "a row an op: the dimensions that no rule describes"),
    "run/proof/zero_signs.py": (21, "a row an op that tells zeros of both signs apart"),
    "search/advice/outcome.py": (2, "products, whose work is not the number of their elements"),
    "run/proof/sized_ops.py": (19, "a row an op: how the sizes of its dimensions and attributes are related"),
    "check/communication_rules.py": (1, "the op whose slices straddle shards"),
    "check/loops.py": (1, "random numbers, which change in each iteration"),
    "xla/buffers/canonical.py": (9, "products and convolutions, and the ops of the copies made for them"),
    "xla/buffers/fusion.py": (4, "the ops that XLA fuses in a way of their own"),
    "xla/buffers/stored.py": (4, "the ops that XLA stores in a way of their own"),
    "xla/spmd/patterns.py": (5, "the ops that end a pattern of XLA, and its copies"),
    "xla/spmd/rotations.py": (2, "the ops of which XLA recognizes rotations"),
    "xla/spmd/handlers.py": (37, "a row an op: XLA's handler of it"),
    "xla/spmd/walk.py": (2, "the slice and the barrier whose operands XLA treats in a way of their own"),
    "frontends/jax_devices.py": (1, "functions in a module of MLIR's Python bindings"),
}
"""The number of names of ops in other files, and why. Entries may only shrink."""


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
    assert found == allowed, "ask a trait or a column of the op's row, or name its class; drop stale entries"
