"""What ops take in by themselves, held against the elements that each part of a result depends on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shardy_py.api import Program, propagate
from shardy_py.hardware.cost import CostModel, Link
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.communication.of_program import forecast

MODEL = CostModel("test", Link(1e9, 1e-6))
PARTS, ROWS, COLUMNS = 4, 16, 6

PROGRAM = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x6xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}})
    -> (tensor<{rows}x6xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}}) {{
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  {op} loc("model.py":3:5)
  return %0 : tensor<{rows}x6xf32>
}}
"""
WINDOW = """%0 = "stablehlo.reduce_window"(%a, %c) <{{
    window_dimensions = array<i64: {size}, 1>, padding = dense<[[{low}, {high}], [0, 0]]> : tensor<2x2xi64>
  }}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>"""
Reads = Callable[[int], set[int]]
"""The rows of the operand that a row of the result depends on."""

CASES: list[tuple[str, str, int, Reads]] = [
    (
        "slice",
        "%0 = stablehlo.slice %a [3:15, 0:6] : (tensor<16x6xf32>) -> tensor<12x6xf32>",
        12,
        lambda row: {row + 3},
    ),
    ("reverse", "%0 = stablehlo.reverse %a, dims = [0] : tensor<16x6xf32>", 16, lambda row: {15 - row}),
    (
        "pad",
        "%0 = stablehlo.pad %a, %c, low = [3, 0], high = [1, 0], interior = [0, 0]"
        " : (tensor<16x6xf32>, tensor<f32>) -> tensor<20x6xf32>",
        20,
        lambda row: {row - 3},
    ),
    ("window", WINDOW.format(size=3, low=1, high=1), 16, lambda row: {row - 1, row, row + 1}),
    ("cumulative", WINDOW.format(size=16, low=15, high=0), 16, lambda row: {*range(row + 1)}),
]


def halos(op: str, rows: int) -> list[CollectiveUse]:
    result = propagate(Program.parse(PROGRAM.format(op=op, rows=rows)))
    report = forecast(result.program.module, MODEL)[1]
    return [use for use in report.sending if use.kind == "halo_exchange"]


def rows_lacking(rows: int, reads: Reads) -> int:
    """The rows received by the device that misses most."""
    held = np.array_split(np.arange(ROWS), PARTS)
    made = np.array_split(np.arange(rows), PARTS)
    inside = set(range(ROWS))
    return max(
        len(({source for row in new.tolist() for source in reads(row)} & inside) - set(old.tolist()))
        for old, new in zip(held, made, strict=True)
    )


@pytest.mark.parametrize(("name", "op", "rows", "reads"), CASES, ids=[case[0] for case in CASES])
def test_bytes_are_those_missing_on_a_device(name: str, op: str, rows: int, reads: Reads) -> None:
    (use,) = halos(op, rows)
    lacked = rows_lacking(rows, reads)
    assert lacked
    assert (use.axes, use.cost.bytes) == ((("x", 4),), lacked * COLUMNS // 2 * 4)
    assert use.cost.seconds == pytest.approx(use.cost.bytes / 1e9 + 1e-6)
    assert use.cause.reason.endswith("reads beyond the local shard of operand 0")
    assert (str(use.cause.position), use.cause.is_explicit) == ("model.py:3:5", False)


def test_a_roll_by_half() -> None:
    """Of halves, devices have 2 rows each; of the whole 4: those of the other half, say, 4, 5, 6 and 7."""
    op = (
        "%1 = stablehlo.slice %a [8:16, 0:6] : (tensor<16x6xf32>) -> tensor<8x6xf32>\n"
        "  %2 = stablehlo.slice %a [0:8, 0:6] : (tensor<16x6xf32>) -> tensor<8x6xf32>\n"
        "  %0 = stablehlo.concatenate %1, %2, dim = 0"
        " : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<16x6xf32>"
    )
    rows = 3 * 4
    found = [(use.cause.op, use.cause.operand, use.cost.bytes // rows) for use in halos(op, 16)]
    slices = [("stablehlo.slice", 0, 2)] * 2
    assert found == [*slices, ("stablehlo.concatenate", 0, 4), ("stablehlo.concatenate", 1, 4)]


@pytest.mark.parametrize(
    "op",
    [
        "%0 = stablehlo.tanh %a : tensor<16x6xf32>",
        "%0 = stablehlo.reverse %a, dims = [1] : tensor<16x6xf32>",
        WINDOW.format(size=1, low=0, high=0),
    ],
)
def test_what_stays_within_parts(op: str) -> None:
    text = PROGRAM.format(op=op, rows=16).replace('{"y"}', "{}")
    assert propagate(Program.parse(text)).communication(MODEL).sending == ()
