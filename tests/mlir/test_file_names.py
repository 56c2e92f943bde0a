"""Names that a file gives its values: found wherever a value is named, beside the names that are printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardy_py import P, Program, ShardyError, propagate
from shardy_py.base.errors import collected_warnings
from shardy_py.mlir.value_table import ValueTable

TEXT = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%q: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %my_name: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %1 = stablehlo.add %q, %my_name : tensor<8x16xf32>
  %2 = stablehlo.tanh %1 : tensor<8x16xf32>
  %pair:2 = stablehlo.optimization_barrier %1, %2 : tensor<8x16xf32>, tensor<8x16xf32>
  %z = call @f(%pair#1) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %c = stablehlo.constant dense<1.0> : tensor<8x16xf32>
  %last = stablehlo.add %z, %c : tensor<8x16xf32>
  return %last : tensor<8x16xf32>
}
func.func private @f(%inner: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %deep = stablehlo.tanh %inner : tensor<8x16xf32>
  return %deep : tensor<8x16xf32>
}
"""


@pytest.fixture
def program() -> Program:
    return Program.parse(TEXT)


NAMES = {
    "%q": "%arg0",
    "%my_name": "%arg1",
    "%c": "%cst",
    "%pair": "%2#0",
    "%pair#0": "%2#0",
    "%pair#1": "%2#1",
    "%last": "%4",
    "@main:%z": "%3",
    "%deep": "@f:%0",
    "@f:%inner": "@f:%arg0",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_file_are_known(program: Program, name: str) -> None:
    assert str(program[name]) == NAMES[name]
    assert name in program
    assert program[name].file_name in (name, f"{name}#0", name.partition(":")[2])


def test_they_stay_through_copies_passes_and_propagation(program: Program) -> None:
    result = propagate(program.annotate({"%my_name": P("x", None)}))
    assert str(result["%last"].sharding) == '<@mesh, [{"x"}, {}]>'
    assert result["%pair#1"].op_name == "stablehlo.optimization_barrier"
    assert result.explain("%q")
    assert result.why_not("%deep", 1, "x")
    inlined = program.run("xla-inline-calls")
    assert inlined["%deep"].function == "main"
    assert inlined["%z"] == inlined["%deep"]  # the result of the call is now the value of the function
    assert inlined["%z"].entry.file_names == ("%deep", "%z")
    constrained = program.annotate({"%2": P(None, "x")})
    assert {value.op_name for value in constrained.values.named("%last")} == {"stablehlo.add"}
    assert result["%c"].op_name == "sdy.constant"
    assert result.what_if({"%q": P(None, "x")}).changes


def test_printed_names_take_precedence_and_a_remark_says_so(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    assert program["%1"].op_name == "stablehlo.tanh"
    assert "'%1' is taken as it is printed, %1 = stablehlo.tanh; " in caplog.text
    assert "in the file it is the name of %0 = stablehlo.add" in caplog.text
    assert program["%1"].op_name == "stablehlo.tanh"
    assert caplog.text.count("is taken as it is printed") == 1
    caplog.clear()
    assert program["%q"].name == "%arg0"
    assert program["%0"].op_name == "stablehlo.add"  # the file has no %0
    assert not caplog.text
    result = propagate(program)
    with collected_warnings() as warnings:
        result.explain("%1")
    assert [warning.message.partition(" is taken")[0] for warning in warnings] == ["'%1'"]


def test_unknown_names_list_close_ones(program: Program) -> None:
    with pytest.raises(ShardyError, match=r"did you mean '%my_name' or"):
        program["%my_names"]
    few = r"; the program has '%q', '%my_name', '%1', '%2', '%pair#0', '%pair#1' and 7 more$"
    with pytest.raises(ShardyError, match=few):
        program["%xxxxxx"]


def test_inputs_are_named_as_in_the_file(program: Program) -> None:
    ones: Any = np.ones((8, 16), np.float32)
    by_file = program.run({"%q": ones, "my_name": ones}, probe=["%last"])
    printed = program.run({"%arg0": ones, "%arg1": ones})
    np.testing.assert_array_equal(by_file["result 0"], printed["result 0"])
    np.testing.assert_array_equal(by_file.probes["%last"][0], printed["result 0"])
    with pytest.raises(ShardyError, match="unknown argument '%w': expected one of '%q', '%my_name'"):
        program.run({"%w": ones})
    with pytest.raises(ShardyError, match=r"argument %q has two inputs"):
        program.run({"%q": ones, "%arg0": ones})


def test_inputs_that_file_and_printer_name_differently_are_refused() -> None:
    swapped = Program.parse(
        "func.func @main(%arg1: tensor<f32>, %arg0: tensor<f32>) -> tensor<f32> {\n"
        "  return %arg1 : tensor<f32>\n}"
    )
    with pytest.raises(
        ShardyError, match="argument '%arg0': expected argument 0, which is printed so, got a"
    ):
        swapped.run({"%arg0": 1.0, "%arg1": 2.0})
    assert swapped.run([1.0, 2.0])["result 0"] == 1.0


def test_programs_as_printed_have_no_other_names(program: Program) -> None:
    printed = ValueTable(Program.parse(program.text()).module)
    assert all(entry.file_name == entry.name for entry in printed.entries if entry.value is not None)
    assert not any(printed.other_meaning(entry.name) for entry in printed.entries)
