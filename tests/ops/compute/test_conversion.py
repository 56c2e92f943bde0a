"""Conversions and quantized types: against XLA on a CPU, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute import Array, compute_of
from shardy_py.ops.compute.precision import NARROW
from shardy_py.ops.compute.quantization import quantization
from tests.ops.compute.against_jax import run_text
from tests.ops.compute.test_elementwise import run, values


@pytest.fixture(autouse=True)
def _quiet() -> Any:  # pyright: ignore[reportUnusedFunction]
    with np.errstate(all="ignore"):
        yield


CONVERTED = ("i1", "i4", "ui8", "i32", "ui64", "f8E4M3FN", "f8E8M0FNU", "bf16", "f32", "f64", "complex<f32>")


def test_conversions_are_those_of_xla() -> None:
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    types = [element_type(name).dtype for name in CONVERTED]
    operands = [values(dtype, 1)[0] for dtype in types]
    with jax.enable_x64(True), pytest.warns(np.exceptions.ComplexWarning):
        every = jax.jit(lambda xs: [[jax.lax.convert_element_type(x, t) for t in types] for x in xs])(
            operands
        )
    for operand, results in zip(operands, every, strict=True):
        for name, result in zip(CONVERTED, results, strict=True):
            (got,) = run("stablehlo.convert", operand[None], results=(name,))
            right = np.asarray(result)
            assert got.dtype == right.dtype
            np.testing.assert_array_equal(*(x.astype(NARROW.get(x.dtype, x.dtype)) for x in (got, right)))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32", "i32"),
        ("f64", "f16"),
        ("ui8", "i4"),
        ("i4", "ui8"),
        ("f8E5M2", "i8"),
        ("ui4", "f32"),
        ("i4", "ui4"),
    ],
)
def test_bits_are_those_of_xla_and_come_back(source: str, target: str) -> None:
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    before, after = element_type(source), element_type(target)
    operand = values(before.dtype, 1)[0][:64].reshape(2, -1, max(after.bits // before.bits, 1))
    operand = operand if after.bits > before.bits else operand[..., 0]
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(lambda x: jax.lax.bitcast_convert_type(x, after.dtype))(operand))
    (got,) = run("stablehlo.bitcast_convert", operand[None], results=(target,))
    assert got.dtype == expected.dtype
    assert got.astype("i1" if after.bits < 8 else after.dtype).tobytes() == (
        expected.astype("i1" if after.bits < 8 else after.dtype).tobytes()
    )
    (back,) = run("stablehlo.bitcast_convert", got[None], results=(source,))
    np.testing.assert_array_equal(*(x.astype(NARROW.get(x.dtype, x.dtype)) for x in (back, operand)))


PER_AXIS = "!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>"


def quantized_op(name: str, operands: list[tuple[Array, str]], result: str, **attributes: Any) -> list[Any]:
    """Runs an op on stored integers or floats of these types, and returns the stored result."""
    types = tuple(TensorType(array.shape, type_) for array, type_ in operands)
    record = OpRecord(f"stablehlo.{name}", types, (TensorType(operands[0][0].shape, result),), attributes)
    return compute_of(record)(record, *(array[None] for array, _ in operands))[0].tolist()


def test_quantized_types_compute_by_their_definition() -> None:
    numbers = np.float32([4, 15])
    stored = np.int8([10, 10])
    assert quantized_op("uniform_quantize", [(numbers, "f32")], PER_AXIS) == [10, 10]
    assert quantized_op("uniform_dequantize", [(stored, PER_AXIS)], "f32") == [4, 15]
    other = "!quant.uniform<i8:f32:0, {0.1:-20,0.2:-30}>"
    assert quantized_op("uniform_quantize", [(stored, PER_AXIS)], other) == [20, 45]
    assert quantized_op("bitcast_convert", [(stored, PER_AXIS)], "i8") == [10, 10]
    narrow = "!quant.uniform<i8<-7:7>:f32, 0.5>"
    assert quantized_op("uniform_quantize", [(np.float32([1.25, -9]), "f32")], narrow) == [2, -7]
    tenths, halves = "!quant.uniform<i8:f32, 0.1:-30>", "!quant.uniform<i8:f32, 0.5:-20>"
    pair = [(np.int8([-20, -10]), tenths), (np.int8([-14, -12]), halves)]
    assert quantized_op("add", pair, halves) == [-12, -8]
    assert quantized_op("compare", pair, "i1", comparison_direction="LT") == [True, True]
    assert quantized_op("multiply", [(np.float32([3, 3]), "f32"), pair[1]], "f32") == [9, 12]
    assert quantized_op("reverse", [(np.int8([-128, 127]), halves)], halves, dimensions=(0,)) == [127, -128]
    wide = "!quant.uniform<i32:f64, 0.5>"
    assert quantized_op("negate", [(np.int32([2**30 + 1, -(2**31)]), wide)], wide) == [
        -(2**30) - 1,
        2**31 - 1,
    ]


def test_regions_on_quantized_types_run_on_their_values() -> None:
    scalar = "tensor<!quant.uniform<i8:f32, 0.5:-20>>"
    vector = scalar.replace("<", "<4x", 1)
    text = f"""func.func @main(%a: {vector}, %z: {scalar}) -> {scalar} {{
      %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
        : ({vector}, {scalar}) -> {scalar}
      return %0 : {scalar}
    }}"""
    (total,) = run_text(text, np.int8([[-18, -16, -14, -20]]), np.int8([-20]))
    assert total.tolist() == [-8]


def test_other_quantized_types_are_unsupported() -> None:
    with pytest.raises(ShardyError, match=r"!quant\.any<i8:f32>"):
        quantization("!quant.any<i8:f32>")
