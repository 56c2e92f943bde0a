"""Running programs on arrays: inputs by name, results by name, probes, devices, mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardy_py import Program, ShardyError
from shardy_py.api.execution import random_inputs

TEXT = """
func.func @main(%arg0: tensor<2xf32> loc("x"), %arg1: tensor<2xf32>)
    -> (tensor<2xf32> {jax.result_info = "y"}) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<2xf32>
  %1 = stablehlo.multiply %0, %arg1 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @id(%arg0: tensor<ui32>) -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.add %0, %arg0 : tensor<ui32>
  return %1 : tensor<ui32>
}
"""
X, Y = np.float32([1, 2]), np.float32([3, 4])


def test_inputs_and_results_have_names() -> None:
    program = Program.parse(TEXT)
    for inputs in ({"x": X, "%arg1": Y}, {"0": X, "arg1": [3, 4]}, {0: X, 1: Y}, [X, Y]):
        results = program.run(inputs, probe=["%0"])
        assert results["y"].tolist() == results["result 0"].tolist() == results[0].tolist() == [12, 24]
        assert list(results) == ["result 0"]
        assert [value.tolist() for value in results.probes["%0"]] == [[4, 6]]
        assert [name in results for name in ("y", "result 0", "result 1", "")] == [True, True, False, False]
        assert (results.get("z"), results.get("y")) == (None, results[0])
        with pytest.raises(ShardyError, match="unknown result 'z': expected 'y'"):
            results["z"]


def test_inputs_are_for_all_devices_or_for_each() -> None:
    program = Program.parse(TEXT)
    assert program.run([np.uint32(5)], function="id", devices=3)[0].tolist() == [5, 6, 7]
    each = np.uint32([10, 20, 30, 40])
    assert program.run([each], function="@id", devices=(2, 2))[0].tolist() == [10, 21, 30, 41]


def test_random_inputs_fit() -> None:
    program = Program.parse(TEXT)
    inputs = random_inputs(program.values, "main", 7)
    assert {name: (array.dtype.name, array.shape) for name, array in inputs.items()} == {
        "%arg0": ("float32", (2,)),
        "%arg1": ("float32", (2,)),
    }
    assert program.run(inputs)[0].tolist() == ((inputs["%arg0"] + inputs["%arg1"]) * inputs["%arg1"]).tolist()


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({"z": X, "x": X}, {}, "unknown argument 'z': expected one of 'x', '%arg1'"),
        ({"x": X}, {}, "expected an input for each argument, got none for %arg1"),
        ({"x": X, "0": X}, {}, r"argument %arg0 \(x\) has two inputs"),
        ({"x": X, 0: X}, {}, r"argument %arg0 \(x\) has two inputs"),
        ({"x": X, 2: X}, {}, "unknown argument '2': expected one of 'x', '%arg1'"),
        ([X], {}, "expected 2 inputs, got 1"),
        ([X, Y[:1]], {}, r"argument %arg1: expected tensor<2xf32> \(float32\), got an array 1xfloat32"),
        ([X, 1], {}, r"argument %arg1: expected tensor<2xf32> \(float32\), got a scalar float32"),
        (
            [np.arange(2), Y],
            {},
            r"argument %arg0 \(x\): expected tensor<2xf32> \(float32\), got an array 2xint64",
        ),
        ([X, Y], {"devices": 0}, "expected a number of devices"),
        ([X, Y], {"probe": "%0"}, "expected a list of values"),
        ([X, Y], {"probe": ["%arg0"]}, "expected a value that an op computes, got argument %arg0"),
        ([X, Y], {"function": "f"}, "unknown function '@f'"),
        ([X, Y], {"probes": 1}, "unknown option 'probes': .*did you mean 'probe'"),
        ([X, Y], {"max_elements": 1}, "max-elements raises it"),
        (3, {}, "expected inputs by argument"),
    ],
)
def test_mistakes(inputs: Any, options: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        Program.parse(TEXT).run(inputs, **options)
