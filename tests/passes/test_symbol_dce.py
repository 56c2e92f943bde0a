"""Private symbols that nothing refers to are removed."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.symbols import function_name
from shardy_py.passes.import_.call_graph import unreferenced_symbols
from tests.mlir.test_symbols import module_of


@pytest.mark.parametrize(
    ("functions", "unreferenced"),
    [
        (("main: f", "-f: g", "-g:"), []),
        (("main:", "-f: g", "-g:", "h:"), ["f", "g"]),
        (("main:", "-f: f"), ["f"]),
    ],
)
def test_unreferenced_symbols(functions: tuple[str, ...], unreferenced: list[str]) -> None:
    found = unreferenced_symbols(module_of(*functions))
    assert [function_name(op) for op in found] == unreferenced


def test_references_in_attributes_count() -> None:
    module = parse_module("""
      func.func @main() attributes {a = [{b = @f}]} { call @g() : () -> () return }
      func.func private @f() { call @h() : () -> () return }
      func.func private @g() { return }
      func.func private @h() { return }
      func.func private @i() { return }""")
    assert [function_name(op) for op in unreferenced_symbols(module)] == ["i"]
