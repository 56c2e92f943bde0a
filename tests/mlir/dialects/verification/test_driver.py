"""What is verified in which order, and how much of it is reported."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.verification import find_faults, verify_module

TWO_FAULTS = """
func.func @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> tensor<4xf32>
  %1 = "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> tensor<2xf32>
  return %arg0 : tensor<8xf32>
}
func.func @g(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return
}
"""


def _lines(text: str) -> list[int]:
    found = find_faults(parse_module(text))
    return [diagnostic.where.line for diagnostic in found if diagnostic.where]


def test_the_first_fault_of_each_function_is_reported() -> None:
    assert _lines(TWO_FAULTS) == [3, 8]


def test_verify_module_raises_what_is_found() -> None:
    module = parse_module(TWO_FAULTS)
    with pytest.raises(ShardyError) as error:
        verify_module(module)
    assert error.value.diagnostics == find_faults(module)


def test_symbols_are_looked_at_when_functions_are_sound() -> None:
    twice = "func.func private @f()\nfunc.func private @f()\n"
    assert _lines(twice) == [2]
    broken = 'func.func @g(%a: f32) {\n  "stablehlo.abs"(%a) : (f32) -> ()\n  return\n}\n'
    assert _lines(broken + twice) == [2]


def test_results_are_compared_when_the_body_is_sound() -> None:
    body = """
    %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = "stablehlo.not"(%a) : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%a) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>"""
    text = f"func.func @f(%x: tensor<8xf32>, %y: tensor<f32>) {{{body}\n  return\n}}"
    assert "'stablehlo.not' op operand #0" in find_faults(parse_module(text))[0].message
    sound = text.replace("stablehlo.not", "stablehlo.abs")
    assert "inferred type(s) 'tensor<f32>'" in find_faults(parse_module(sound))[0].message


def test_a_fault_in_results_is_found_again() -> None:
    text = """func.func @f(%x: tensor<8xf32>, %y: tensor<f32>) {
      %0 = stablehlo.reduce(%x init: %y) applies stablehlo.add across dimensions = [0] :
        (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
      return
    }"""
    first = find_faults(parse_module(text))
    assert first
    assert find_faults(parse_module(text)) == first


def test_unregistered_ops_are_not_looked_at() -> None:
    inner = '"a.b"() ({\n  "a.c"() : () -> ()\n  "a.d"() : () -> ()\n}) : () -> ()'
    text = f"func.func @f() {{\n{inner}\n  return\n}}"
    assert find_faults(parse_module(text, allow_unregistered=True)) == ()


def test_programs_of_the_corpus_are_sound(corpus_program: str, corpus: Callable[[str], str]) -> None:
    for name in (corpus_program, f"{corpus_program}.propagated"):
        assert find_faults(parse_module(corpus(name), name)) == ()


def test_an_op_is_verified_once_a_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    from shardy_py.mlir.dialects.verification.driver import Verifier

    seen: list[str] = []
    check = Verifier.signature
    monkeypatch.setattr(
        Verifier, "signature", lambda self, op, scope: seen.append(op.name) or check(self, op, scope)
    )
    line = "  %{} = stablehlo.add %a, %a : tensor<8xf32>\n"
    ops = "".join(map(line.format, range(50)))
    verify_module(parse_module(f"func.func @f(%a: tensor<8xf32>) {{\n{ops}  return\n}}"))
    assert seen.count("stablehlo.add") == 1


def test_an_empty_module_is_sound() -> None:
    assert find_faults(ModuleOp([])) == ()


def test_a_mesh_of_another_attribute_is_none() -> None:
    """What refers to it before it is verified finds no mesh."""
    module = parse_module("""
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<8xf32>}>
      {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : () -> tensor<8xf32>
    %1 = "sdy.all_gather"(%0) <{gathering_axes = #sdy<list_of_axis_ref_lists[{}]>,
      out_sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<8xf32>) -> tensor<8xf32>
    "sdy.mesh"() <{mesh = "", sym_name = "mesh"}> : () -> ()
    """)
    assert any("unknown mesh: @mesh" in str(each) for each in find_faults(module))
