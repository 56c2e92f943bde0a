"""Selections as XLA:GPU makes them before it propagates shardings."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.hardware import hardware_of
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.xla.prepare.for_gpu import simplified_for_gpu
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
