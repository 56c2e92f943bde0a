"""Names of symbols and the order of calls."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.calls import FunctionCopies, functions_bottom_up, functions_top_down
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import find_ops
from shardy_py.mlir.symbols import Symbols, function_name


def module_of(*functions: str) -> ModuleOp:
    """Functions written `name: callee callee`, a `-` before private ones."""
    text = ""
    for function in functions:
        name, _, callees = function.partition(":")
        calls = "".join(f"func.call @{callee}() : () -> ()\n" for callee in callees.split())
        text += (
            f"func.func {'private ' if name[0] == '-' else ''}@{name.lstrip('-')}() {{ {calls} return }}\n"
        )
    return parse_module(text)


def test_numbers_of_copies_count_up_over_all_names() -> None:
    module = module_of("f:", "g:", "f_1:")
    symbols = Symbols(module)
    copies = [symbols.insert(clone(symbols.function(name), {})) for name in ("f", "g", "f")]
    assert copies == ["f_0", "g_1", "f_2"]
    assert [function_name(op) for op in module.body.block.ops] == ["f", "g", "f_1", "f_0", "g_1", "f_2"]


def test_a_free_name_is_kept() -> None:
    symbols = Symbols(module_of("f:"))
    copy = clone(symbols.function("f"), {})
    symbols.erase(symbols.function("f"))
    assert symbols.insert(copy) == "f"


def test_main_is_the_only_function_or_called_main() -> None:
    assert function_name(Symbols(module_of("f:")).main()) == "f"
    assert function_name(Symbols(module_of("f:", "main:")).main()) == "main"
    with pytest.raises(ShardyError, match=r"'builtin\.module' op needs one function, or one named @main"):
        Symbols(module_of("f:", "g:")).main()


def test_a_program_without_functions_is_placed_by_its_file() -> None:
    with pytest.raises(ShardyError, match=r"^empty\.mlir:1:1: error: .*; it has: none"):
        Symbols(parse_module("", "empty.mlir")).main()


def test_unknown_callee() -> None:
    module = module_of("f: nothing")
    with pytest.raises(ShardyError, match="Failed to lookup function: nothing"):
        Symbols(module).callee(find_ops(module, "func.call")[0])


def test_orders_of_functions() -> None:
    module = module_of("leaf:", "a: b", "b: c leaf", "c: a", "alone:")
    assert [function_name(op) for op in functions_bottom_up(module)] == ["leaf", "c", "b", "a", "alone"]
    assert [function_name(op) for op in functions_top_down(module)] == ["alone", "a", "b", "c", "leaf"]


def test_nested_modules_call_their_own_functions() -> None:
    module = parse_module("""
      module @inner {
        func.func @caller() { call @f() : () -> () return }
        func.func private @f() { return }
      }
      func.func private @f() { return }
      func.func @main() { call @f() : () -> () return }""")
    order = functions_bottom_up(module)
    assert [function_name(op) for op in order] == ["f", "caller", "f", "main"]
    assert order[2].parent is module.body.block


def test_copy_of_a_function_calls_copies() -> None:
    module = module_of("f: g", "g: h", "h:")
    symbols = Symbols(module)
    copy = FunctionCopies(symbols, 1_000).copy(symbols.function("f"))
    assert copy.parent is None
    assert [str(call.properties["callee"]) for call in find_ops(copy, "func.call")] == ["@g_1"]
    assert [str(call.properties["callee"]) for call in find_ops(symbols.function("g_1"), "func.call")] == [
        "@h_0"
    ]
    assert str(symbols.function("h_0").attributes["sdy.original_func_name"]) == '"h"'
