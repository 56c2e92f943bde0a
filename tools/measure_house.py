"""Prints the measurements of the package's layout, beside those of November, before its rooms were moved.

    .venv/bin/python tools/measure_house.py

A way is run in a new Python and counted by the rooms (below `shardy_py`) that it loads; those through JAX
and PyTorch are skipped where these are not installed. Not here: time and memory (`benchmarks/`).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import networkx

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "shardy_py"
DESCRIBED = ("ops", "mlir", "hlo")
"""Where tables have the names of ops as keys: rows, dialects, what ops compute, HLO's opcodes; and facets."""

OPT = """
import contextlib, io
from shardy_py.cli.commands import run_here
sys.argv = ["sdy-opt", "examples/mlp.mlir", "--as-written", "--sdy-propagation-pipeline"]
with contextlib.redirect_stdout(io.StringIO()):
    run_here("shardy_py.cli.opt")
"""
JAX = """
import jax, numpy
from shardy_py import P, Program, propagate
program = Program.from_jax(lambda a, b: a @ b, numpy.ones((8, 4)), numpy.ones((4, 8)))
result = propagate(program.with_mesh({"x": 2}).annotate({"a": P(None, "x"), "b": P(None, "x")}))
str(result.check())
"""
TORCH = """
import torch
from shardy_py import Mesh, Program
exported = torch.export.export(torch.nn.Linear(8, 8), (torch.ones(4, 8),))
str(Program.from_torch(exported, Mesh.of(x=2)).suggest())
"""
WAYS = (
    ("rooms on the way of sdy-opt", "", OPT, "19 (wanted 9)"),
    ("rooms from JAX to a report with remedy", "jax", JAX, "25 (wanted 14)"),
    ("rooms from torch to a suggestion", "torch", TORCH, "26 (wanted 15)"),
)
COUNT = """
print(len({name.split(".")[1] for name in sys.modules if name.startswith("shardy_py.")}))
"""


ANY, CAST = r"\bAny\b", r"\bcast\("
"""Patterns of lines that a type checker does not follow."""


def sources() -> dict[Path, str]:
    """The text of the package's files, by their path in it."""
    return {path.relative_to(PACKAGE): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def main() -> None:
    """Prints a row for each measurement."""
    files = sources()
    trees = {path: ast.parse(text) for path, text in files.items()}
    lines = [line for text in files.values() for line in text.splitlines()]
    rows = [
        ("lines of Python", len(lines), "113,000"),
        ("files", len(files), "721"),
        ("names at the root", len({path.parts[0] for path in files}), "47"),
    ]
    rows += [(what, rooms_loaded(needed, code), before) for what, needed, code, before in WAYS]
    tables = op_tables(trees)
    rows += [
        ("tables keyed by op names elsewhere / in files", f"{tables.total()} / {len(tables)}", "60 / 49"),
        ("class names used more than once, public ones", public_of(repeated_classes(trees)), "76"),
        ("lines with Any", count_lines(lines, ANY), "1,783 (wanted 700)"),
        ("lines with cast(", count_lines(lines, CAST), "325 (wanted 120)"),
        ("lines with id(", count_lines(lines, r"\bid\("), "410"),
        ("files over 400 lines", sum(text.count("\n") > 400 for text in files.values()), ""),
        ("circles of imports between rooms", circles(trees), "1, of 29 files"),
    ]
    rows = [
        ("", "now", "November"),
        *((what, f"{now:,}" if isinstance(now, int) else now, then) for what, now, then in rows),
    ]
    for what, now, before in rows:
        print(f"{what:<48}{now:>12}  {before}")


def rooms_loaded(needed: str, code: str) -> str | int:
    """The number of rooms that the code loads, or why that is not known."""
    if needed and find_spec(needed) is None:
        return f"no {needed}"
    command = [sys.executable, "-c", f"import sys\n{code}{COUNT}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return int(done.stdout.split()[-1]) if done.returncode == 0 else f"fails: {done.stderr.splitlines()[-1]}"


def op_tables(trees: dict[Path, ast.Module]) -> Counter[str]:
    """The number of dictionaries with names of ops as keys outside their descriptions, by file."""
    from shardy_py.ops import TABLE

    return Counter(
        path.as_posix()
        for path, tree in trees.items()
        if not path.as_posix().startswith(DESCRIBED) and path.name != "facet.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict | ast.Set) and names_of_ops(node, TABLE)
    )


def names_of_ops(node: ast.Dict | ast.Set, known: object) -> bool:
    """Returns whether at least two keys, or elements, are names of ops, or their classes."""
    keys = node.keys if isinstance(node, ast.Dict) else node.elts
    names = (key.value if isinstance(key, ast.Constant) else "" for key in keys)
    return sum(name in known for name in names) + sum(map(_names_class_of_op, keys)) > 1  # type: ignore[operator]


def _names_class_of_op(key: ast.expr | None) -> bool:
    """Returns whether an expression is `AddOp`, or the name of a class: `AddOp.name`."""
    if isinstance(key, ast.Attribute):
        return key.attr.endswith("Op") or (
            key.attr == "name" and isinstance(key.value, ast.Name | ast.Attribute)
        )
    return isinstance(key, ast.Name) and key.id.endswith("Op")


def repeated_classes(trees: dict[Path, ast.Module]) -> list[str]:
    """The names of classes that are used more than once."""
    named = Counter(name for path, tree in trees.items() for name in class_names(path, tree))
    return [name for name, count in named.items() if count > 1]


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The file, its statements, and the clauses that hold some: without expressions, most of all nodes."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, name, ())


def class_names(path: Path, tree: ast.Module) -> Iterator[str]:
    """The names of a file's classes; ops, attributes and types of a dialect have its name, as in MLIR."""
    dialect = "".join(f"{part}." for part in path.parts[2:-1][:1] if path.parts[:2] == ("mlir", "dialects"))
    for node in statements(tree):
        if isinstance(node, ast.ClassDef):
            yield f"{dialect if node.name.endswith(('Op', 'Attr', 'Type')) else ''}{node.name}"


def public_of(names: list[str]) -> str:
    """The number of names, and of those without a leading underscore."""
    return f"{len(names)}, {sum(not name.startswith('_') for name in names)}"


def count_lines(lines: list[str], pattern: str) -> int:
    """The number of lines that have the pattern."""
    return sum(re.search(pattern, line) is not None for line in lines)


def circles(trees: dict[Path, ast.Module]) -> str:
    """The circles of rooms by their imports, those for types and those in functions left out."""
    graph: networkx.DiGraph = networkx.DiGraph()
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shardy_py."):
                graph.add_edge(path.parts[0], (node.module or "").split(".")[1])
    found = [sorted(each) for each in networkx.strongly_connected_components(graph) if len(each) > 1]
    return "; ".join(", ".join(each) for each in found) or "0"


if __name__ == "__main__":
    main()
