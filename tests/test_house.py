"""Types and words of the package: what `tools/measure_house.py` counts only goes down."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import measure_house

FILES = measure_house.sources()


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """The files parsed; millions of objects, which are not kept for the tests of other files."""
    return {path: ast.parse(text) for path, text in FILES.items()}


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (measure_house.ANY, 585),
        (measure_house.CAST, 107),
    ],
)
def test_lines_without_types(pattern: str, most: int) -> None:
    """Types are found, or named once (`base/arrays.py`, `base/narrowing.py`), instead of one line more."""
    lines = [line for text in FILES.values() for line in text.splitlines()]
    assert measure_house.count_lines(lines, pattern) <= most


def test_class_names_are_used_once(trees: dict[Path, ast.Module]) -> None:
    assert [name for name in measure_house.repeated_classes(trees) if not name.startswith("_")] == []


def test_files_have_at_most_400_lines() -> None:
    generated = "op_classes.py"
    assert [path for path, text in FILES.items() if text.count("\n") > 400 and path.name != generated] == []


def test_docstrings_open_with_a_noun_or_a_verb(trees: dict[Path, ast.Module]) -> None:
    """`True if ...` or `The axes that ...` instead of `Whether ...`, `What ...`."""
    opens = re.compile(r"(What|Where|Whether|Of|Those)\b")
    found = ((path, text) for path, tree in trees.items() for text in docstrings(tree))
    assert [(str(path), text) for path, text in found if opens.match(text)] == []


def docstrings(tree: ast.Module) -> Iterator[str]:
    """The docstrings of a file: of itself, classes, functions, and values."""
    for node in measure_house.statements(tree):
        for statement in getattr(node, "body", ()):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                yield str(statement.value.value).strip()


def test_plurals_are_made_in_one_place() -> None:
    """By `base/counting.py`, not by an s that is added if a count is not one."""
    added = re.compile(
        r"""(["'])s\1 (\* \(|if [\w.()]+ (!= 1|> 1))|(["'])\4 if [\w.()]+ == 1 else (["'])s\5"""
    )
    assert [path for path, text in FILES.items() if added.search(text) and path.name != "counting.py"] == []
