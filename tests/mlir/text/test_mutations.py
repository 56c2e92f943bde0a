# ruff: noqa: E501  the programs are as JAX prints them
"""Mutated programs: each gives a diagnostic with a position, or prints and reads back; no other exception."""

from __future__ import annotations

import random
import re

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module

SEED = 20_240_817
CASES_PER_PROGRAM = 400

PROGRAMS = {
    "train_step": """\
module @jit_step attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "tensor"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>}, %arg1: tensor<4x16xf32>) -> (tensor<8x16xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
    %3 = call @relu(%2) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %3 : tensor<8x16xf32>
  }
  func.func private @relu(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.maximum %arg0, %arg0 : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}
""",
    "generic": """\
#map = affine_map<(d0, d1) -> (d0 + 5, d1 mod 3)>
module {
  %0:2 = "foo.a"() <{x = 1 : i8}> {m = #map, s = "a\\22b", t = [1, 2.5, @f::@g], u} : () -> (i32, tensor<2x?xf32>)
  "foo.b"(%0#0, %0#1) ({
  ^bb0(%a: i32, %b: f32):
    "foo.br"(%a)[^bb1] : (i32) -> ()
  ^bb1:
    "foo.c"() {v = array<i64: 1, 2>, w = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>} : () -> ()
  }) {y = #foo.bar<baz<"x">>} : (i32, tensor<2x?xf32>) -> ()
} loc(#loc)
#loc = loc("f"(callsite("a.py":1:2 at "b.py":3:4 to :9)))
""",
    "manual": """\
module {
  sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y":(1)2}]>] out_shardings=[<@mesh, [{"x"}, {}], replicated={"y"}>] manual_axes={"x"} (%arg1: tensor<4x16xf32>) {
      %1 = sdy.sharding_constraint %arg1 <@mesh, [{}, {"y"}p1]> : tensor<4x16xf32>
      sdy.return %1 : tensor<4x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}
""",
    "constants": """\
module {
  %0 = stablehlo.constant dense<"0x0000803F0000004000004040"> : tensor<3xf32>
  %1 = stablehlo.constant dense<[0x7F800000, -1.5e-3]> : tensor<2xf32>
  %2 = stablehlo.constant dense<[(1.0, 2.0), (3.0, -0.0)]> : tensor<2xcomplex<f32>>
  %3 = stablehlo.constant dense<> : tensor<0x4xi4>
  %4 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
}
""",
    "loop": """\
func.func @main(%arg0: tensor<i32>) -> tensor<i32> {
  %c = stablehlo.constant dense<10> : tensor<i32>
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<i32>
   cond {
    %1 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %iterArg, %c : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }
  return %0 : tensor<i32>
}
""",
}
TOKEN = re.compile(r'\w+|"[^"]*"|\s+|.', re.DOTALL)
MUTATIONS = ("drop", "double", "swap", "replace")


def mutated(text: str, rng: random.Random) -> str:
    """The text with one to three of its characters or tokens dropped, doubled, swapped or replaced."""
    for _ in range(rng.randint(1, 3)):
        parts = list(text) if rng.random() < 0.5 else TOKEN.findall(text)
        at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        match rng.choice(MUTATIONS):
            case "drop":
                parts[at] = ""
            case "double":
                parts[at] *= 2
            case "swap":
                parts[at], parts[other] = parts[other], parts[at]
            case _:
                parts[at] = parts[other]
        text = "".join(parts)
    return text


@pytest.mark.parametrize("name", PROGRAMS)
def test_mutations_give_a_diagnostic_or_valid_text(name: str) -> None:
    rng = random.Random(f"{SEED} {name}")
    accepted = 0
    for number in range(CASES_PER_PROGRAM):
        text = mutated(PROGRAMS[name], rng)
        try:
            printed = print_module(parse_module(text, allow_unregistered=True))
        except ShardyError as error:
            positions = [diagnostic.where for diagnostic in error.diagnostics]
            if None in positions:
                pytest.fail(f"seed {SEED}, case {number}, no position: {error}\n{text}")
            continue
        except Exception as error:
            raise AssertionError(f"seed {SEED}, case {number}:\n{text}") from error
        accepted += 1
        again = print_module(parse_module(printed, allow_unregistered=True))
        assert again == printed, (number, text)
    assert 0 < accepted < CASES_PER_PROGRAM
