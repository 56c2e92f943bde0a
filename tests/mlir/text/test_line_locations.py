"""Ops on lines of known signatures have the locations of their names, however the lines are laid out."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc

from shardy_py.mlir.dialects.registry import parse_module
from shardy_py.mlir.ir import find_ops

TEXT = """func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.abs %a : tensor<8xf32>
  %1 = stablehlo.abs %0 : tensor<8xf32>

    %22 = stablehlo.abs %1 : tensor<8xf32>
    %3 = stablehlo.abs %22 : tensor<8xf32>
  // a remark
  %4 = stablehlo.abs %3 : tensor<8xf32>
  %5 = stablehlo.abs %4 : tensor<8xf32> %6 = stablehlo.abs %5 : tensor<8xf32>
\t%7 = stablehlo.abs %6 : tensor<8xf32>
  %8 = stablehlo.abs %7 : tensor<8xf32>
  return %8 : tensor<8xf32>
}
"""


def test_locations_of_lines() -> None:
    lines = TEXT.split("\n")
    found = [op.location for op in find_ops(parse_module(TEXT, "x.mlir"), "stablehlo.abs")]
    assert all(isinstance(location, FileLineColLoc) for location in found)
    places = [(loc.line.data, loc.column.data) for loc in found if isinstance(loc, FileLineColLoc)]
    wanted = [
        (number, start + 1)
        for number, line in enumerate(lines, 1)
        for start in range(len(line))
        if line.startswith("stablehlo.abs", start)
    ]
    assert places == wanted
