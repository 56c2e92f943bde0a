# ruff: noqa: E501  linalg.generic stands on one line
"""Ops of xDSL's dialects in their own syntax, among ours."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import find_faults

MIXED = """\
func.func @f(%x: i32, %y: i32) -> i32 {
  %named = arith.constant 7 : i32
  %sum = arith.addi %x, %named : i32
  %twice = arith.addi %sum, %sum : i32
  %other = arith.addi %y, %x : i32
  %c:2 = "foo.a"() : () -> (i32, i1)
  %r = scf.if %c#1 -> (i32) {
    %t = arith.muli %twice, %c#0 : i32
    scf.yield %t : i32
  } else {
    scf.yield %other : i32
  }
  return %r : i32
}
"""


def test_names_agree() -> None:
    module = parse_module(MIXED, allow_unregistered=True)
    module.verify()
    printed = print_module(module)
    assert '%3:2 = "foo.a"() : () -> (i32, i1)' in printed or "foo.a" in printed
    lines = [line.strip() for line in printed.splitlines()]
    first = next(line for line in lines if "arith.constant" in line).split(" = ")[0]
    assert any(line.endswith(f"arith.addi %arg0, {first} : i32") for line in lines)
    assert any(line.endswith("arith.addi %arg1, %arg0 : i32") for line in lines)
    assert print_module(parse_module(printed, allow_unregistered=True)) == printed


def test_aliases_reach_xdsl() -> None:
    text = """\
#map = affine_map<(d0) -> (-d0 + 5)>
func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
    printed = print_module(parse_module(text))
    assert printed.startswith("#map = affine_map<(d0) -> (-d0 + 5)>\n")
    assert "indexing_maps = [#map, #map]" in printed
    assert print_module(parse_module(printed)) == printed


NESTED = """\
module {
  sdy.mesh @m = <["x"=2]>
  func.func @f(%arg0: i1, %arg1: tensor<8xf32>, %arg2: index) -> tensor<8xf32> {
    %0 = scf.for %arg3 = %arg2 to %arg2 step %arg2 iter_args(%arg4 = %arg1) -> (tensor<8xf32>) {
      %2:2 = stablehlo.while(%iterArg = %arg4, %iterArg_0 = %arg1) : tensor<8xf32>, tensor<8xf32>
      cond {
        %c = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        scf.if %arg0 {
          %3 = sdy.reshard %iterArg_0 <@m, [{"x"}]> : tensor<8xf32>
        }
        stablehlo.return %iterArg, %iterArg_0 : tensor<8xf32>, tensor<8xf32>
      }
      scf.yield %2#1 : tensor<8xf32>
    }
    cf.cond_br %arg0, ^bb1(%0 : tensor<8xf32>), ^bb2
  ^bb1(%1: tensor<8xf32>):  // 2 preds: ^bb0, ^bb2
    return %1 : tensor<8xf32>
  ^bb2:  // pred: ^bb0
    cf.br ^bb1(%arg1 : tensor<8xf32>)
  }
}
"""


def test_ops_nest_in_any_order() -> None:
    assert print_module(parse_module(NESTED)) == NESTED


def inside_if(line: str) -> str:
    return (
        f"func.func @f(%c: i1, %x: tensor<8xf32>, %y: tensor<8xi32>) {{\nscf.if %c {{\n{line}\n}}\nreturn\n}}"
    )


def test_ops_in_a_region_of_xdsl_are_verified() -> None:
    text = inside_if('%0 = "stablehlo.add"(%x, %y) : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>')
    (fault,) = find_faults(parse_module(text))
    assert str(fault).startswith("-:3:6: error: op requires the same element type")


@pytest.mark.parametrize("line", ['"foo.a"() : () -> ()', "foo.a %x", "stablehlo.foo %x", "scf.foo %x"])
def test_unknown_ops_in_a_region_of_xdsl_are_refused(line: str) -> None:
    with pytest.raises(ShardyError) as inside:
        parse_module(inside_if(line))
    with pytest.raises(ShardyError) as elsewhere:
        parse_module(f"func.func @f(%x: i32) {{\n\n{line}\n}}")
    assert inside.value.first == elsewhere.value.first


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("func.func @f(%x: i32) {\n  %0 = arith.addi %x : i32\n  return\n}", 2),
        ("func.func @f(%x: i32) {\n  %0 = arith.addi %x, %zz : i32\n  return\n}", 2),
        ("func.func @f(%x: i32) {\n  %0 = arith.addi %x, %x : f32\n  return\n}", 2),
    ],
)
def test_mistakes_have_a_place(text: str, line: int) -> None:
    with pytest.raises(ShardyError) as caught:
        parse_module(text)
    position = caught.value.diagnostics[0].where
    assert position is not None
    assert position.line == line


def test_locations_behind_ops_of_xdsl_are_read_as_behind_ours() -> None:
    """As JAX and MLIR print them: aliases that are defined behind the module, and places of all kinds."""
    text = """\
func.func @f(%x: i32) -> i32 {
  %c = arith.constant 1 : i32 loc(#loc1)
  %sum = arith.addi %x, %c {test.at = loc("y")} : i32 loc("b.py":3:4 to :9)
  return %sum : i32
}
#loc1 = loc("a.py":1:2)
"""
    printed = print_module(parse_module(text), debuginfo=True)
    assert 'loc("a.py":1:2)' in printed
    assert 'loc("b.py":3:4 to :9)' in printed
    assert 'loc("y")' in printed
