"""The text of values, as StableHLO's interpreter prints them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardy_py.api.pipeline import read
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.run.interpret.printing import array_text


@pytest.mark.parametrize(
    ("array", "element", "text"),
    [
        (np.uint8(1), "ui8", "tensor<ui8> {1}"),
        (np.array([1.0, -4.0, np.nan], np.float16), "f16", "[1.000000e+00, -4.000000e+00, 0x7E00]"),
        (np.array([True, False]), "i1", "tensor<2xi1> {\n  [true, false]\n}"),
        (np.zeros((0, 2), np.int8), "i8", "tensor<0x2xi8> {\n  []\n}"),
        (np.zeros((2, 0), np.int8), "i8", "tensor<2x0xi8> {\n  [\n    [],\n    []\n  ]\n}"),
        (np.complex64([3.14 + 1j]), "complex<f32>", "{\n  [[3.140000e+00, 1.000000e+00]]\n}"),
        (np.array([1, -2]).astype(element_type("i2").dtype), "i2", "  [1, -2]\n"),
        (np.int8([1, -2]), "!quant.uniform<i8:f32, 1.0>", "f32, 1.0>> {\n  [1, -2]\n"),
        (np.uint8([1, 254]), "!quant.uniform<u8:f32, 1.0>", "  [1, 254]\n"),
        (
            np.array([1, -3]).astype(element_type("f6E2M3FN").dtype),
            "f6E2M3FN",
            "[1.000000e+00, -3.000000e+00]",
        ),
        (
            np.arange(4).reshape(2, 1, 2),
            "i64",
            "tensor<2x1x2xi64> {\n  [\n    [\n      [0, 1]\n    ],\n    [\n      [2, 3]\n    ]\n  ]\n}",
        ),
    ],
)
def test_values_as_text(array: Any, element: str, text: str) -> None:
    sizes = "".join(f"{size}x" for size in np.shape(array))
    module = read(f"func.func @main(%a: tensor<{sizes}{element}>) {{ return }}")
    (type_,) = next(op for op in module.walk() if op.name == "func.func").properties["function_type"].inputs
    assert text in array_text(np.asarray(array), type_)
