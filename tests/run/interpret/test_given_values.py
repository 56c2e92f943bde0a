"""Numbers that are given to a run: those that would be changed are errors."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardy_py import Program
from shardy_py.base.errors import ShardyError
from shardy_py.run.interpret.given_values import converted

KEPT: tuple[tuple[Any, Any], ...] = (
    *((True, "bool"), (1, "bool"), (0, "int8"), (-128, "int8"), (2.0, "int8"), (True, "int32")),
    *((2**63, "uint64"), (2**64 - 1, "uint64"), (-(2**63), "int64"), (7, "int4"), (-8, "int4"), (3, "uint2")),
    *((0.1, "float32"), (1, "float32"), (1 << 100, "float32"), (math.inf, "float32"), (math.nan, "bfloat16")),
    *((1e-40, "float32"), (3.4e38, "float32"), (0.3, "float8_e4m3fn"), (6, "float4_e2m1fn")),
    *((1 + 2j, "complex64"), (1, "complex64"), ([], "float32"), ([[1, 2.0], [3, 4]], "int8")),
    *(([np.float32(1.5)], "float32"), ([2**63, 2**63 + 1], "uint64")),
)
CHANGED: tuple[tuple[Any, Any], ...] = (
    *((1.5, "int32"), (300, "int8"), (-1, "uint8"), (2, "bool"), (0.5, "bool"), (8, "int4"), (-9, "int4")),
    *((2**63, "int64"), (-1, "uint64"), (2**64, "uint64"), (math.nan, "int32"), (math.inf, "int8")),
    *((float(2**63), "int64"), (1e39, "float32"), (70_000.0, "float16"), (1e-60, "float32")),
    *(((1 << 24) + 1, "float32"), (257, "bfloat16"), (10**5000, "float64"), (7.9, "float4_e2m1fn")),
    *((math.nan, "float4_e2m1fn"), (math.inf, "float8_e4m3fn"), (1j, "float32"), (1j, "int32")),
    *((1e39 + 0j, "complex64"), ([1, 2, 300], "int8"), ([2**63 + 1, -1], "int64")),
)


def _type(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(np, f"{name}_" if name == "bool" else name, None) or getattr(ml_dtypes, name))


@pytest.mark.parametrize(("value", "name"), KEPT)
def test_numbers_that_keep_their_value(value: Any, name: str) -> None:
    made = converted(value, _type(name))
    assert made.dtype == _type(name)
    back = made.astype(np.complex128) if made.dtype.kind == "c" else made.astype(object)
    np.testing.assert_allclose(back.astype(np.complex128), np.asarray(value, np.complex128), rtol=0.13)


@pytest.mark.parametrize(("value", "name"), CHANGED, ids=range(len(CHANGED)))
def test_numbers_that_would_be_changed(value: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"does not fit {name}"):
        converted(value, _type(name))


@pytest.mark.parametrize("value", ["1.5", None, [1, [2]], {"a": 1}, [None], b"1", object()])
def test_other_values(value: Any) -> None:
    with pytest.raises(TypeError, match="is not a number"):
        converted(value, np.dtype(np.float32))


def test_a_run_names_argument_value_and_type() -> None:
    text = "func.func @main(%a: tensor<2xi8>) -> tensor<2xi8> {\n return %a : tensor<2xi8>\n}"
    program = Program.parse(text)
    assert program.run([[1, 2.0]])[0].tolist() == [1, 2]
    message = r"argument %a: expected numbers of tensor<2xi8> \(int8\), got .*; 300 \(int\) at \[1\] does not"
    with pytest.raises(ShardyError, match=message):
        program.run({"%arg0": [1, 300]})
    with pytest.raises(ShardyError, match=r"argument %a: .*str is not a number"):
        program.run([["1", "2"]])
