from __future__ import annotations

import pytest

from shardy_py.ops.record import TensorType
from shardy_py.report import ReportedValue, local_shape, size_bytes, summarize, summary_text
from shardy_py.report.summary import Bytes
from shardy_py.report.tables import bytes_text
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
    assert size_bytes(shape, element) == expected


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
    assert local_shape(ReportedValue(TensorType((9, 6)), sharding), MESHES) == expected


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
    assert summary.bytes["arguments"] == Bytes(1, 256, 32)
    assert summary.bytes["results"] == Bytes(1, 32, 32)
    assert summary.bytes["intermediates"] == Bytes(4, 256 + 32 + 4, 128 + 32 + 4)
    assert summary.dynamic == 1


def test_text() -> None:
    assert (
        summary_text(summarize(VALUES, MESHES), MESHES)
        == """\
mesh @mesh = <["x"=4, "y"=2]>, 8 devices

values      count  share
sharded         2  33.3%
replicated      3  50.0%
scalars         1  16.7%
all             6

sharded over  size  count  share
"x"              4      2  33.3%
"y"              2      1  16.7%

bytes          values  global  each device   share
arguments           1   256 B         32 B   12.5%
results             1    32 B         32 B  100.0%
intermediates       4   292 B        164 B   56.2%

Intermediates are all results of ops together, not what is alive at one time.

1 values have dynamic dimensions; their bytes are not counted."""
    )


def test_text_of_nothing() -> None:
    assert summary_text(summarize((), {}), {}).startswith(
        "values      count  share\nsharded         0      -\n"
    )


def test_units() -> None:
    assert [bytes_text(n) for n in (0, 999, 1000, 123_456_789, 10**16)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "123.46 MB",
        "10.00 PB",
    ]
