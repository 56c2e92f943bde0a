"""Float formats against numpy and ml_dtypes: every pattern of the small ones, random ones of the large."""

from __future__ import annotations

import math
import random
import struct

import ml_dtypes
import numpy as np
import pytest

from shardy_py.mlir.text.float_formats import FORMATS, float_text

DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}


def patterns(name: str) -> list[int]:
    width = FORMATS[name].width
    if width <= 16:
        return list(range(1 << width))
    rng = random.Random(name)
    return [rng.getrandbits(width) for _ in range(5000)] + [0, 1, (1 << width) - 1, 1 << (width - 1)]


def as_numpy(name: str, bits: int) -> float:
    dtype = np.dtype(DTYPES[name])
    return float(np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)[0])


@pytest.mark.parametrize("name", DTYPES)
def test_values_and_bits(name: str) -> None:
    form = FORMATS[name]
    for bits in patterns(name):
        value, expected = form.to_float(bits), as_numpy(name, bits)
        assert math.isnan(value) == math.isnan(expected), hex(bits)
        if math.isnan(expected):
            assert math.isnan(form.to_float(form.encode(value)))
            continue
        assert value == expected, hex(bits)
        assert math.copysign(1, value) == math.copysign(1, expected), hex(bits)
        assert form.encode(value) == bits


@pytest.mark.parametrize("name", [n for n in DTYPES if n != "f8E8M0FNU"])
def test_rounding(name: str) -> None:
    form, dtype = FORMATS[name], np.dtype(DTYPES[name])
    largest = form.to_float(form.largest)
    rng = random.Random(name)
    for _ in range(2000):
        value = rng.uniform(-1, 1) * largest * 2.0 ** -rng.randrange(0, 2 * form.bias)
        if name in ("f32", "f64", "f16"):
            expected = float(np.array(value).astype(dtype))
        else:  # these go through f32 in ml_dtypes: start from one
            value = struct.unpack("<f", struct.pack("<f", value))[0]
            expected = float(np.float32(value).astype(dtype))
        assert form.to_float(form.encode(value)) == expected, value


@pytest.mark.parametrize(
    ("name", "bits", "text"),
    [
        ("f32", 0x3F000000, "5.000000e-01"),
        ("f32", 0x3C23D70A, "0.00999999977"),
        ("f32", 0x358637BD, "9.99999997E-7"),
        ("f32", 0x7FC00000, "0x7FC00000"),
        ("f32", 0x80000000, "-0.000000e+00"),
        ("f64", 0x3FD5555555555555, "0.33333333333333331"),
        ("bf16", 0x3E9A, "3.007810e-01"),
        ("f80", 0x3FFF8000000000000000, "1.000000e+00"),
        ("f8E4M3FN", 0x7F, "0x7F"),
    ],
)
def test_text(name: str, bits: int, text: str) -> None:
    assert float_text(bits.to_bytes(FORMATS[name].size, "little"), name) == text


def test_text_reads_back() -> None:
    rng = random.Random(7)
    for _ in range(3000):
        bits = rng.getrandbits(32)
        text = float_text(bits.to_bytes(4, "little"), "f32")
        if not text.startswith("0x"):
            assert FORMATS["f32"].encode(float(text)) == bits
