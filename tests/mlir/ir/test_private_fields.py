"""xDSL's private fields are used in `mlir/ir/` only, and a page asks for a public form of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import getsource
from pathlib import Path

import shardy_py

PACKAGE = Path(shardy_py.__file__).parent
OWN = PACKAGE / "mlir" / "ir"
OF_TORCH = {"frontends/torch/training.py": {"_args"}}
"""Private fields of other packages that have the name of one of xDSL's."""
MODULES = (
    *("xdsl.builder", "xdsl.context", "xdsl.dialects.builtin", "xdsl.ir.core", "xdsl.irdl.attributes"),
    *("xdsl.irdl.operations", "xdsl.parser.attribute_parser", "xdsl.parser.base_parser", "xdsl.parser.core"),
    *("xdsl.parser.generic_parser", "xdsl.pattern_rewriter", "xdsl.printer", "xdsl.rewriter", "xdsl.traits"),
    *("xdsl.utils.base_printer", "xdsl.utils.lexer", "xdsl.utils.mlir_lexer"),
)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def private_names() -> set[str]:
    """The private attributes and methods of xDSL's classes."""
    found = set[str]()
    for module in MODULES:
        for node in ast.walk(ast.parse(getsource(import_module(module)))):
            match node:
                case (
                    ast.Attribute(attr=name)
                    | ast.FunctionDef(name=name)
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    found.add(name)
                case _:
                    pass
    return set(filter(is_private, found))


NAMED = re.compile(
    r"""(?<!\bself)(?<!\bcls)\s*\.\s*(_\w+)|["'](_\w+)["']|^(?=from xdsl\b(?:.*\b_|.*\([^)]*\b_))""",
    re.MULTILINE,
)
"""What may be a use, and lines that import something private; empty for these."""


def uses(text: str, names: set[str]) -> Iterator[tuple[int, str]]:
    """Lines with private names of another object, also in strings (`getattr`), and private imports."""
    if not any((found[1] or found[2] or "") in {"", *names} for found in NAMED.finditer(text)):
        return  # most modules; to parse them all takes seconds
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name, lineno=line) | ast.Constant(value=str(name), lineno=line):
                if name in names:
                    yield line, name
            case ast.ImportFrom(module=str(module), names=aliases, lineno=line) if module.startswith("xdsl"):
                for name in (*module.split("."), *(alias.name for alias in aliases)):
                    if is_private(name):
                        yield line, name
            case _:
                pass


def test_private_fields_are_used_in_one_folder() -> None:
    names = private_names()
    assert {"_operands", "_next_use", "_resume_from", "_ssa_values"} <= names
    found: list[str] = []
    for path in PACKAGE.rglob("*.py"):
        relative = path.relative_to(PACKAGE).as_posix()
        if OWN not in path.parents:
            others = names - OF_TORCH.get(relative, set())
            found += (f"{relative}:{line} {name}" for line, name in uses(path.read_text(), others))
    assert not found


def test_each_private_field_has_a_draft_of_an_issue(root: Path) -> None:
    used = {name for path in OWN.glob("*.py") for _, name in uses(path.read_text(), private_names())}
    page = (root / "docs" / "design" / "xdsl_upstream.md").read_text()
    assert set(re.findall(r"`(_\w+)`", page)) == used


def test_uses_are_found() -> None:
    text = "from xdsl.ir import _a\nop._operands\ngetattr(op, '_operands')\nself._operands\nx._mine\n"
    assert [*uses("from xdsl.ir import (\n    _a,\n)\n", set())] == [(1, "_a")]
    assert [*uses(text, {"_operands"})] == [(1, "_a"), (2, "_operands"), (3, "_operands")]
