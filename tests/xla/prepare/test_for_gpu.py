"""Programs as XLA:GPU simplifies them before it propagates shardings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py import Program, propagate
from shardy_py.hardware import hardware_of
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.xla.prepare.for_gpu import simplified_for_gpu
from shardy_py.xla.prepare.for_tpu import simplified_for_tpu
from shardy_py.xla.targets.compiled import compiler_of
from shardy_py.xla.targets.of_program import CompiledProgram

_TEXT = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<SHAPExELEMENT> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}SPARE]>})
    -> (tensor<BATCHx2xELEMENT>, tensor<BATCHx2xi32>) {
  %0, %1 = chlo.top_k(%x, k = 2) : tensor<SHAPExELEMENT> -> (tensor<BATCHx2xELEMENT>, tensor<BATCHx2xi32>)
  %2 = stablehlo.add %0, %0 : tensor<BATCHx2xELEMENT>
  return %2, %1 : tensor<BATCHx2xELEMENT>, tensor<BATCHx2xi32>
}"""


def _text(batch: str, element: str) -> str:
    spare = ", {}" * batch.count("x")
    named = {"SHAPE": f"{batch}x64", "BATCH": batch, "ELEMENT": element, "SPARE": spare}
    text = _TEXT
    for name, value in named.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    ("batch", "element", "ops"),
    [
        ("16", "f32", ["custom_call"]),
        ("16x4", "bf16", ["reshape", "custom_call", "reshape", "reshape"]),
        ("16x4", "i32", ["iota", "sort", "compare", "slice", "slice"]),
    ],
)
def test_rows_of_floats_are_selected_by_a_call(batch: str, element: str, ops: list[str]) -> None:
    module = simplified_for_gpu(Program.parse(_text(batch, element), as_compiled=False).module)
    names = [op.name.removeprefix("stablehlo.") for op in walk_pre_order(module)]
    assert sorted(name for name in names if name in {*ops}) == sorted(ops)


@pytest.mark.parametrize(("element", "sent"), [("f32", [2 * 16 * 4 * 2 * 4]), ("i32", [])])
def test_shardings_propagate_through_sorts_only(element: str, sent: list[int]) -> None:
    """As XLA compiles both for an H100: it gathers what the call makes, values and places in one op."""
    result = propagate(Program.parse(_text("16x4", element), as_compiled=True), progress=False)
    compiler = compiler_of(hardware_of("h100"))
    assert compiler is not None
    made = CompiledProgram(result.forecasts.spmd("xla"), compiler)
    issued = made.plan(made.program.entries[0]).issued
    assert [each.result_bytes for each in issued] == sent


_PAIRS = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<64x16xf32>, %b: tensor<64x4xf32>, %i: tensor<1xi32>) -> (tensor<64x16x4xf32>,
    tensor<64x16xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [] x []
    : (tensor<64x16xf32>, tensor<64x4xf32>) -> tensor<64x16x4xf32>
  %v = stablehlo.constant dense<1.0> : tensor<16xf32>
  %1 = "stablehlo.scatter"(%a, %i, %v) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %r : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}
    : (tensor<64x16xf32>, tensor<1xi32>, tensor<16xf32>) -> tensor<64x16xf32>
  %w = stablehlo.transpose %a, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %2 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
    : (tensor<64x16xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  return %0, %1, %2 : tensor<64x16x4xf32>, tensor<64x16xf32>, tensor<64x64xf32>
}"""


def test_products_without_sums_multiply_and_one_row_is_written_in_place() -> None:
    """As in XLA's dump after `spmd-simplify`, where the operand of a product stays transposed."""
    module = simplified_for_gpu(Program.parse(_PAIRS, as_compiled=False).module)
    names = [op.name.removeprefix("stablehlo.") for op in walk_pre_order(module)]
    assert names.count("dot_general") == names.count("transpose") == names.count("multiply") == 1
    assert "dynamic_update_slice" in names
    assert "scatter" not in names


@pytest.mark.parametrize(("text", "is_rewritten"), [(_PAIRS, False), (_text("16x4", "i32"), True)])
def test_it_counts_only_if_other_bytes_are_sent(text: str, *, is_rewritten: bool) -> None:
    """Of most programs what is sent is the same, and changes are tried without propagating them again."""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    compiler = compiler_of(hardware_of("h100"))
    assert compiler is not None
    assert CompiledProgram(result.forecasts.spmd("xla"), compiler).is_rewritten == is_rewritten


_ADDED_PART = """
func.func @main(%x: tensor<64x16xf32>, %y: tensor<8x16xf32>, %i: tensor<i32>) -> tensor<64x16xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<START> : tensor<f32>
  %z = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
  %0 = stablehlo.dynamic_update_slice %z, %y, %i, %c
    : (tensor<64x16xf32>, tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  %1 = stablehlo.add %x, %0 : tensor<64x16xf32>
  return %1 : tensor<64x16xf32>
}"""


@pytest.mark.parametrize("simplified", [simplified_for_gpu, simplified_for_tpu])
@pytest.mark.parametrize(
    ("start", "ops"),
    [
        ("0.0", ["dynamic_slice", "add", "dynamic_update_slice"]),
        ("1.0", ["broadcast_in_dim", "dynamic_update_slice", "add"]),
    ],
)
def test_what_is_added_to_an_update_of_zeros_is_updated(
    simplified: Callable[[ModuleOp], ModuleOp], start: str, ops: list[str]
) -> None:
    """As XLA compiles the gradient of blocks of queries in a loop, for an H100."""
    module = simplified(Program.parse(_ADDED_PART.replace("START", start), as_compiled=False).module)
    names = [op.name.removeprefix("stablehlo.") for op in walk_pre_order(module)]
    assert [name for name in names if name in {*ops, "broadcast_in_dim"}] == ops


def test_what_is_added_to_a_scatter_is_scattered_into() -> None:
    """So that shardings do not propagate through the sum: as in XLA's dump after `spmd-simplify`."""
    text = """
    func.func @main(%y: tensor<64x16xf32>, %i: tensor<512x1xi32>, %u: tensor<512x16xf32>)
        -> tensor<64x16xf32> {
      %none = stablehlo.constant dense<0.0> : tensor<f32>
      %z = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
      %0 = "stablehlo.scatter"(%z, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
          update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
          index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
      }) : (tensor<64x16xf32>, tensor<512x1xi32>, tensor<512x16xf32>) -> tensor<64x16xf32>
      %2 = stablehlo.add %y, %0 : tensor<64x16xf32>
      return %2 : tensor<64x16xf32>
    }"""
    module = simplified_for_gpu(Program.parse(text, as_compiled=False).module)
    (function,) = module.body.block.ops
    names = [op.name.removeprefix("stablehlo.") for op in function.regions[0].block.ops]
    assert names == ["scatter", "func.return"]
