"""Which values are copied into VMEM, beside what XLA:TPU allocated for v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.xla.buffers.copying import CopyTime


def test_each_copy_takes_time() -> None:
    time = CopyTime([8, 6])
    assert not time.before(-1, 0, 8)
    taken = time.before(-1, 2, 10)
    assert taken == [1, 0]
    time.spend(taken, 10)
    assert not time.before(-1, 2, 8)
    time.spend(time.before(-1, 2, 4), 4)
    assert not time.before(-1, 2, 1)


def test_what_was_just_made_is_not_copied() -> None:
    time = CopyTime([8, 4])
    assert not time.before(0, 1, 4)
    assert time.before(0, 2, 4) == [1]


_GRADIENTS = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<{batch}x{width}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %w: tensor<{width}x{hidden}xf32>, %v: tensor<{hidden}x{width}xf32>)
    -> (tensor<{batch}x{width}xf32>, tensor<{width}x{hidden}xf32>, tensor<{hidden}x{width}xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<{batch}x{hidden}xf32>
  %two = stablehlo.constant dense<2.0> : tensor<{batch}x{width}xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<{batch}x{width}xf32>, tensor<{width}x{hidden}xf32>) -> tensor<{batch}x{hidden}xf32>
  %1 = stablehlo.maximum %0, %zero : tensor<{batch}x{hidden}xf32>
  %2 = stablehlo.compare GT, %0, %zero
    : (tensor<{batch}x{hidden}xf32>, tensor<{batch}x{hidden}xf32>) -> tensor<{batch}x{hidden}xi1>
  %3 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0]
    : (tensor<{batch}x{hidden}xf32>, tensor<{hidden}x{width}xf32>) -> tensor<{batch}x{width}xf32>
  %4 = stablehlo.multiply %two, %3 : tensor<{batch}x{width}xf32>
  %5 = stablehlo.dot_general %4, %1, contracting_dims = [0] x [0]
    : (tensor<{batch}x{width}xf32>, tensor<{batch}x{hidden}xf32>) -> tensor<{width}x{hidden}xf32>
  %6 = stablehlo.transpose %5, dims = [1, 0] : (tensor<{width}x{hidden}xf32>) -> tensor<{hidden}x{width}xf32>
  %7 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [1]
    : (tensor<{batch}x{width}xf32>, tensor<{hidden}x{width}xf32>) -> tensor<{batch}x{hidden}xf32>
  %8 = stablehlo.select %2, %7, %zero : tensor<{batch}x{hidden}xi1>, tensor<{batch}x{hidden}xf32>
  %9 = stablehlo.dot_general %8, %x, contracting_dims = [0] x [0]
    : (tensor<{batch}x{hidden}xf32>, tensor<{batch}x{width}xf32>) -> tensor<{hidden}x{width}xf32>
  %10 = stablehlo.transpose %9, dims = [1, 0]
    : (tensor<{hidden}x{width}xf32>) -> tensor<{width}x{hidden}xf32>
  %11 = stablehlo.dot_general %8, %w, contracting_dims = [1] x [1]
    : (tensor<{batch}x{hidden}xf32>, tensor<{width}x{hidden}xf32>) -> tensor<{batch}x{width}xf32>
  return %11, %10, %6
    : tensor<{batch}x{width}xf32>, tensor<{width}x{hidden}xf32>, tensor<{hidden}x{width}xf32>
}}
"""


@pytest.mark.parametrize(
    ("batch", "width", "hidden", "allocated"),
    [
        (2048, 1024, 2048, 16.281),
        (2048, 1024, 3840, 30.219),
        (2048, 1024, 4096, 48.250),
        (2048, 1024, 8192, 96.187),
        (1536, 1024, 4096, 24.250),
        (4096, 512, 2048, 32.250),
        (4096, 1024, 4096, 96.219),
        (8192, 512, 2048, 96.219),
    ],
)
def test_values_that_fill_vmem_stay_in_hbm(batch: int, width: int, hidden: int, allocated: float) -> None:
    """The gradients of two layers of `relu(x @ w) @ v`, of so many rows on a device; in MiB."""
    text = _GRADIENTS.format(batch=8 * batch, width=width, hidden=hidden)
    estimate = propagate(Program.parse(text, as_compiled=True), progress=False).memory("tpu-v5p").estimate
    assert estimate is not None
    assert estimate.temporaries / 2**20 == pytest.approx(allocated, abs=0.2)
