from __future__ import annotations

import pytest

from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.dialects import parse_module
from shardy_py.ops.record import TensorType
from shardy_py.report import ReportedValue, collect_values, summarize
from shardy_py.report.summary import GroupBytes
from shardy_py.report.tables import bytes_text, seconds_text
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, SubAxis, TensorSharding

MESHES = {"mesh": Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))}
X, Y, X_PART = AxisRef("x"), AxisRef("y"), AxisRef("x", SubAxis(1, 2))


def sharded(*dimensions: tuple[AxisRef, ...], mesh: str | Mesh = "mesh") -> TensorSharding:
    return TensorSharding(mesh, tuple(DimensionSharding(axes, True) for axes in dimensions))


@pytest.mark.parametrize(
    ("shape", "element", "expected"),
    [
        ((), "f32", 4),
        ((3, 5), "bf16", 30),
        ((3,), "i1", 3),
        ((3,), "i4", 2),
        ((5,), "ui2", 2),
        ((3,), "f8E4M3FN", 3),
        ((3,), "f4E2M1FN", 2),
        ((2,), "complex<f64>", 32),
        ((2,), "index", 16),
        ((0, 7), "f32", 0),
        ((None, 7), "f32", 0),
    ],
)
def test_size_bytes(shape: tuple[int | None, ...], element: str, expected: int) -> None:
    assert tensor_size(TensorType(shape, element), None, {}, "linear").bytes.global_bytes == expected


@pytest.mark.parametrize(
    ("sharding", "expected"),
    [
        (None, (9, 6)),
        (sharded((), ()), (9, 6)),
        (sharded((X,), (Y,)), (3, 3)),  # 9 over 4 devices: padded to 12
        (sharded((X, Y), ()), (2, 6)),
        (sharded((), (X_PART,)), (9, 3)),
        (sharded((), (AxisRef("z"),), mesh=Mesh((MeshAxis("z", 6),))), (9, 1)),
    ],
)
def test_local_shape(sharding: TensorSharding | None, expected: tuple[int, ...]) -> None:
    assert tensor_size(TensorType((9, 6)), sharding, MESHES, "linear").local_shape == expected


VALUES = (
    ReportedValue(TensorType((8, 8)), sharded((X,), (Y,)), "arguments"),
    ReportedValue(TensorType((8, 8)), sharded((X_PART,), ()), "intermediates"),
    ReportedValue(TensorType((8,)), sharded(()), "intermediates"),
    ReportedValue(TensorType((8,)), None, "results"),
    ReportedValue(TensorType(()), sharded(), "intermediates"),
    ReportedValue(TensorType((None,)), None, "intermediates"),
)


def test_counts() -> None:
    summary = summarize(VALUES, MESHES)
    assert (summary.sharded, summary.replicated, summary.scalars, summary.values) == (2, 3, 1, 6)
    assert summary.by_axis == (("x", 2), ("y", 1))
    assert summary.bytes["arguments"] == GroupBytes(1, 256, 32)
    assert summary.bytes["results"] == GroupBytes(1, 32, 32)
    assert summary.bytes["intermediates"] == GroupBytes(4, 256 + 32 + 4, 128 + 32 + 4)
    assert summary.dynamic == 1


def test_text() -> None:
    assert (
        str(summarize(VALUES, MESHES))
        == """\
mesh @mesh = <["x"=4, "y"=2]>, 8 devices

values      count  share
sharded         2  33.3%
replicated      3  50.0%
scalars         1  16.7%
all             6

sharded along  size  count  share
"x"               4      2  33.3%
"y"               2      1  16.7%

bytes          values  global  each device   share
arguments           1   256 B         32 B   12.5%
results             1    32 B         32 B  100.0%
intermediates       4   292 B        164 B   56.2%

Intermediates are the results of all ops; they are not all alive at the same time.

1 values have dynamic dimensions; their bytes are not counted."""
    )


def test_text_of_an_empty_program() -> None:
    assert str(summarize((), {})).startswith("values      count  share\nsharded         0      -\n")


def test_units() -> None:
    assert [bytes_text(n) for n in (0, 999, 1000, 123_456_789, 10**16)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "123.46 MB",
        "10.00 PB",
    ]
    assert seconds_text(1e-10) == "0.10 ns"


PROGRAM = """
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(
        %arg0: tensor<8x?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: !stablehlo.token)
      -> (tensor<8x?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.negate %arg0
        {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x?xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x?xf32>
    %2 = stablehlo.abs %1 : tensor<8x?xf32>
    return %2 : tensor<8x?xf32>
  }
  func.func private @helper(%arg0: tensor<i1>) -> tensor<i1> {
    return %arg0 : tensor<i1>
  }
}
"""


def test_values_of_a_module() -> None:
    module = parse_module(PROGRAM)
    found = [
        (value.group, value.type.shape, value.type.element, str(value.sharding) if value.sharding else None)
        for value in collect_values(module)
    ]
    first, second = '<@mesh, [{"x"}, {}]>', '<@mesh, [{}, {"x"}]>'
    assert found == [
        ("arguments", (8, None), "f32", first),
        ("results", (8, None), "f32", second),
        ("intermediates", (8, None), "f32", second),
        ("intermediates", (8, None), "f32", first),
        ("intermediates", (8, None), "f32", None),
        ("intermediates", (), "i1", None),
    ]
