"""Tests that need PyTorch have its mark: CI installs it late, and runs those with the mark then."""

from __future__ import annotations

import ast
from pathlib import Path

_MODULE_MARKS = ("pytestmark = pytest.mark.torch", "pytestmark = [pytest.mark.torch")


def _asks_for_torch(node: ast.AST) -> bool:
    return any(
        isinstance(call, ast.Call)
        and ast.unparse(call.func) == "pytest.importorskip"
        and ast.unparse(call.args[0]).strip("'").split(".")[0] == "torch"
        for call in ast.walk(node)
    )


def _unmarked(text: str) -> list[str]:
    """The tests that ask for PyTorch without its mark, in a module without it."""
    module = ast.parse(text)
    if any(ast.unparse(node).startswith(_MODULE_MARKS) for node in module.body):
        return []
    outside = [node for node in module.body if not isinstance(node, ast.FunctionDef)]
    if any(map(_asks_for_torch, outside)):
        return ["the module"]
    return [
        node.name
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and _asks_for_torch(node)
        and "pytest.mark.torch" not in map(ast.unparse, node.decorator_list)
    ]


def test_the_mark_is_seen() -> None:
    asks = 'def test_a():\n    pytest.importorskip("torch.nn", reason="")\n'
    assert _unmarked(asks) == ["test_a"]
    assert _unmarked(f"@pytest.mark.torch\n{asks}") == []
    assert _unmarked('torch = pytest.importorskip("torch")') == ["the module"]
    assert _unmarked(f"pytestmark = pytest.mark.torch\n{asks}") == []


def test_tests_that_need_torch_are_marked() -> None:
    texts = {path.name: path.read_text() for path in Path(__file__).parent.rglob("test_*.py")}
    unmarked = {name: _unmarked(text) for name, text in texts.items() if "torch" in text}
    assert [name for name, tests in unmarked.items() if tests] == []
