"""A wrong residue is a name: the message says which element it is."""

from __future__ import annotations

import pytest

from shardy_py.run.proof import ProofOptions, prove
from tests.run.proof.by_hand import partitioned_as_written

WHOLE = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<6xf32>, %arg1: tensor<6xf32>) -> tensor<6xf32> {
  %s = stablehlo.add %arg0, %arg1 : tensor<6xf32>
  return %s : tensor<6xf32>
}"""
LOCAL = """func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {{
  {}
  return %s : tensor<2xf32>
}}"""
ADDED = "%{} = stablehlo.add %{}, %{} : tensor<2xf32>"


@pytest.mark.parametrize(
    ("lines", "origin"),
    [
        (
            [ADDED.format("q", "arg0", "arg1"), "%s = stablehlo.reverse %q, dims = [0] : tensor<2xf32>"],
            "element [1] of the tensor",
        ),
        (["%s = stablehlo.multiply %arg1, %arg1 : tensor<2xf32>"], ""),
        (["%s = stablehlo.reverse %arg1, dims = [0] : tensor<2xf32>"], "element [1] of %arg1"),
        (
            [ADDED.format("q", "arg0", "arg1"), ADDED.format("s", "q", "q")],
            "2 times the right element",
        ),
        (
            [ADDED.format("q", "arg0", "arg1"), ADDED.format("s", "q", "arg0")],
            "it adds element [0] of %arg0",
        ),
    ],
)
def test_the_origin_of_an_element(lines: list[str], origin: str) -> None:
    shardings = dict.fromkeys(("%arg0", "%arg1", "%s"), '[{"x"}]')
    made = partitioned_as_written(WHOLE, LOCAL.format("\n  ".join(lines)), shardings)
    fault = prove(made, ProofOptions()).fault
    assert fault is not None
    assert fault.origin == origin
    assert str(fault).endswith(f"({origin})" if origin else fault.got)


def test_padding_is_an_origin() -> None:
    """Device 3 has one element of seven, and puts its padding first."""
    whole = WHOLE.replace("6xf32", "7xf32").replace("stablehlo.add %arg0, %arg1", "stablehlo.negate %arg1")
    local = """%d = stablehlo.partition_id : tensor<ui32>
  %c = stablehlo.constant dense<3> : tensor<ui32>
  %i = stablehlo.compare EQ, %d, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %r = stablehlo.reverse %arg1, dims = [0] : tensor<2xf32>
  %n = stablehlo.negate %arg1 : tensor<2xf32>
  %s = stablehlo.select %i, %r, %n : tensor<i1>, tensor<2xf32>"""
    shardings = dict.fromkeys(("%arg0", "%arg1", "%s"), '[{"x"}]')
    fault = prove(partitioned_as_written(whole, LOCAL.format(local), shardings), ProofOptions()).fault
    assert fault is not None
    assert fault.origin == "padding of %arg1 on device 3"
