"""Calls that form cycles or deep chains, calls of nested modules, and the limit of copies of functions."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.cli.pass_text import build_step
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes.runner import run_passes

ROW = "tensor<8xf32>"
MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'
SHARDED = '{sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}'


def run(text: str, name: str, options: str = "") -> str:
    module = parse_module(text, "program.mlir")
    run_passes(module, build_step(name, options).calls, verify="each")
    return print_module(module)


def chain(count: int, calls: int) -> str:
    """`count` functions, each of which calls the next one `calls` times."""
    lines = [f"func.func @f0(%x: {ROW} {SHARDED}) -> {ROW} {{"]
    for number in range(1, count):
        lines += (f"  %{i} = call @f{number}(%x) : ({ROW}) -> {ROW}" for i in range(calls))
        lines += [f"  return %0 : {ROW}", "}", f"func.func private @f{number}(%x: {ROW}) -> {ROW} {{"]
    return MESH + "\n".join([*lines, f"  return %x : {ROW}", "}\n"]).replace("@f0", "@main")


IDENTITY = f"""{MESH}func.func private @id(%x: {ROW}) -> {ROW} {{
  return %x : {ROW}
}}
func.func @main(%a: {ROW} {SHARDED}) -> {ROW} {{
  %0 = call @id(%a) : ({ROW}) -> {ROW}
  %1 = call @id(%0) : ({ROW}) -> {ROW}
  %2 = stablehlo.tanh %1 : {ROW}
  return %2 : {ROW}
}}
"""
RECURSIVE = f"""{MESH}func.func @main(%a: {ROW} {SHARDED}) -> {ROW} {{
  %0 = call @f(%a) : ({ROW}) -> {ROW}
  return %0 : {ROW}
}}
func.func private @f(%a: {ROW}) -> {ROW} {{
  %0 = call @f(%a) : ({ROW}) -> {ROW}
  return %0 : {ROW}
}}
"""


@pytest.mark.parametrize(
    "name", ["sdy-basic-propagate", "sdy-aggressive-propagate", "sdy-user-priority-propagate"]
)
@pytest.mark.parametrize("text", [IDENTITY, RECURSIVE, chain(100, 1)], ids=["identity", "recursive", "chain"])
def test_calls_that_are_still_there(text: str, name: str) -> None:
    assert run(text, name) == print_module(parse_module(text))  # as in C++


def test_a_deep_chain_is_imported() -> None:
    assert run(chain(1_000, 1), "sdy-import-func-calls").count("sdy.named_computation") == 999


@pytest.mark.parametrize("name", ["sdy-flatten-call-graph", "sdy-import-func-calls", "xla-inline-calls"])
def test_copies_have_a_limit(name: str) -> None:
    advice = "; set max-copied-ops, or .*" if name.startswith("sdy") else ""
    with pytest.raises(
        ShardyError,
        match=rf"program.mlir:2:1: .*@main -> @f1 -> @f2 -> @f3 -> \.\.\.: .*1000000.* got \d+{advice}$",
    ):
        run(chain(40, 2), name)


def test_the_limit_is_an_option() -> None:
    assert run(chain(4, 2), "sdy-flatten-call-graph").count("func.func") == 15
    with pytest.raises(ShardyError, match="expected at most 20 ops"):
        run(chain(4, 2), "sdy-propagation-pipeline", "max-copied-ops=20")


def test_recursion_cannot_be_flattened() -> None:
    with pytest.raises(ShardyError, match=r"program.mlir:7:8: error: 'func.call' op .* @f is unsupported"):
        run(RECURSIVE, "sdy-flatten-call-graph")


def test_meshes_of_nested_modules_are_refused() -> None:
    function = f"  func.func @f(%a: {ROW}) -> {ROW} {{\n    return %a : {ROW}\n  }}\n"
    nested = f'{MESH}module @inner {{\n  sdy.mesh @mesh = <["z"=4]>\n{function}}}\n'
    with pytest.raises(ShardyError, match=r":3:3: error: mesh @mesh of a nested module is unsupported"):
        run(nested + IDENTITY.removeprefix(MESH), "sdy-basic-propagate")
    same = nested.replace('<["z"=4]>', '<["x"=2, "y"=2]>') + IDENTITY.removeprefix(MESH)
    assert run(same, "sdy-basic-propagate") == print_module(parse_module(same))


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "sdy-propagation-pipeline", "program.mlir:1:1: error: 'builtin.module' op needs one function"),
        ("", "sdy-auto-partition", "program.mlir:1:1: error: auto-partitioner callback wasn't registered"),
    ],
)
def test_faults_of_the_module_have_a_place(text: str, name: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        run(text, name)
    assert str(error.value).startswith(message)


def test_functions_of_several_blocks_are_not_imported() -> None:
    blocks = IDENTITY.replace(
        f"  return %x : {ROW}\n", f"  return %x : {ROW}\n^b(%1: {ROW}):\n  return %1 : {ROW}\n"
    )
    with pytest.raises(
        ShardyError, match=r"program.mlir:8:8: error: 'sdy.named_computation' op expects region #0"
    ):
        run(blocks, "sdy-import-func-calls")


MANUAL = f"""{MESH}func.func private @f(%a: {ROW}) -> {ROW} {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{}}], replicated={{"x"}}>]
    out_shardings=[<@mesh, [{{}}], replicated={{"x"}}>] manual_axes={{"x"}} (%b: {ROW}) {{
    sdy.return %b : {ROW}
  }} : ({ROW}) -> {ROW}
  return %0 : {ROW}
}}
func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}p1]>] out_shardings=[<@mesh, [{{"x"}}p1]>]
    manual_axes={{"x"}} (%b: {ROW}) {{
    %1 = func.call @f(%b) : ({ROW}) -> {ROW}
    sdy.return %1 : {ROW}
  }} : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}}
"""


def test_an_axis_is_not_bound_twice_by_an_imported_call() -> None:
    module = parse_module(MANUAL, "program.mlir")
    with pytest.raises(ShardyError, match=r'program.mlir:3:8: .*operates on axis "x" which is already bound'):
        run_passes(module, build_step("sdy-propagation-pipeline", "").calls)


def test_an_empty_dimension_that_is_closed_has_no_priority() -> None:
    start = MANUAL.index("func.func @main")
    caller = MANUAL[start:].replace("func.call @f(%b)", "stablehlo.tanh %b").replace(f"({ROW}) -> {ROW}", ROW)
    assert "p1" not in run(MESH + caller, "sdy-propagation-pipeline")
