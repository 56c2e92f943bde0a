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
    "partition/unreduced_terms.py": (13, "a row an op: which operands it is linear in"),
    "partition/masks.py": (11, "a row an op: what it must not read of padding, and the reducers' identities"),
    "passes/partitioner/identities.py": (7, "a row a reducer: its identity as bytes"),
    "passes/partitioner/local_collectives.py": (6, "a row a collective of sdy: its local form"),
    "passes/partitioner/local_indexed.py": (2, "a row an op: its local form"),
    "passes/partitioner/local_ops.py": (21, "a row an op: its local form"),
    "passes/partitioner/local_terms.py": (12, "a row an op: its local form"),
    "passes/partitioner/local_windows.py": (4, "a row an op: its local form"),
    "passes/partitioner/padded_ops.py": (14, "a row an op: its form on padded operands"),
    "passes/partitioner/padding_masks.py": (
        5,
        "the reducer whose identity fills a mask, and the op that joins masks",
    ),
    "passes/partitioner/reduction_factors.py": (7, "a row a reducer: the all-reduce that continues it"),
    "passes/partitioner/whole_tensors.py": (10, "a row an op: the dimensions that no rule describes"),
    "proof/zero_signs.py": (21, "a row an op that tells zeros of both signs apart"),
    "advice/outcome.py": (2, "products, whose work is not the number of their elements"),
    "proof/sized_ops.py": (19, "a row an op: how the sizes of its dimensions and attributes are related"),
    "check/communication_rules.py": (1, "the op whose slices straddle shards"),
    "check/loops.py": (8, "ops that move no value between dimensions, through which a lint follows values"),
    "report/memory/canonical.py": (9, "products and convolutions, and the ops of the copies made for them"),
    "report/memory/fusion.py": (9, "the ops that XLA fuses in a way of their own"),
    "report/memory/stored.py": (5, "the ops that XLA stores in a way of their own"),
    "spmd/patterns.py": (5, "the ops that end a pattern of XLA, and its copies"),
    "spmd/rotations.py": (2, "the ops of which XLA recognizes rotations"),
    "spmd/handlers.py": (37, "a row an op: XLA's handler of it"),
    "spmd/walk.py": (2, "the slice and the barrier whose operands XLA treats in a way of their own"),
    "frontends/jax_devices.py": (1, "functions in a module of MLIR's Python bindings"),
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
