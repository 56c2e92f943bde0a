"""`#complex.number`: read, verified and printed as by jaxlib, and run.

`filecheck/passes/folds.mlir` folds one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardy_py.api import Program
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module

NUMBERS = (
    "1.0, 2.0>",
    "1.0, 2.0> : complex<f32>",
    "1.0, 2.0> : i32",
    "0.1, 1.0e-7>",
    "0.3333333333333333, 123456789.0>",
    "1.0e39, -1.0e39>",
    "1.0e400, 0x7FF8000000000000>",
    "0x7FC00000, 0xFFF0000000000000>",
    "-0.0, -1.5>",
    "1, 2.0>",
    "-0x10, 1.0>",
    "0x1FFFFFFFFFFFFFFFFF, 1.0>",
    "1.0>",
    "true, 1.0>",
    "1.0, 2.0, 3.0>",
    "1.0 2.0>",
)


def program(number: str, element: str = "f32") -> str:
    type_ = f"tensor<3xcomplex<{element}>>"
    return f"""module {{
  func.func @main(%arg0: {type_}) -> {type_} {{
    %0 = "chlo.constant_like"(%arg0) <{{value = #complex.number<:{number}}}> : ({type_}) -> {type_}
    return %0 : {type_}
  }}
}}
"""


def _ours(text: str) -> str:
    try:
        module = parse_module(text)
        verify_module(module)
    except ShardyError as error:
        return error.first.message.split(";")[0]
    return print_module(module).strip()


def _theirs(text: str) -> str:
    ir: Any = pytest.importorskip("jaxlib.mlir.ir", reason="jaxlib is not installed")
    mlir: Any = pytest.importorskip("jax._src.interpreters.mlir", reason="JAX is not installed")
    with mlir.make_ir_context():
        try:
            return str(ir.Module.parse(text)).strip()
        except ir.MLIRError as error:
            return error.error_diagnostics[0].message


@pytest.mark.parametrize("number", NUMBERS)
def test_read_and_printed_as_by_jaxlib(number: str) -> None:
    for element in ("f32", "f64", "bf16"):
        for result in ("f32", "f64"):
            text = program(f"{element} {number}", result)
            assert _ours(text).removeprefix("'chlo.constant_like' op ") == _theirs(text).removeprefix(
                "'chlo.constant_like' op "
            )


def test_parts_are_floats() -> None:
    with pytest.raises(ShardyError, match="expected a float type, got: 'i32'") as error:
        parse_module(program("i32 1.0, 2.0>"))
    assert str(error.value).startswith("-:3:65: ")


@pytest.mark.parametrize(("element", "dtype"), [("f32", np.complex64), ("f64", np.complex128)])
def test_run(element: str, dtype: Any) -> None:
    text = program(f"{element} 1.5, -0.1>", element)
    expected = np.full(3, dtype(1.5 - 0.1j))
    got = Program.parse(text).run([np.zeros(3, dtype)])["result 0"]
    assert got.dtype == dtype
    assert got.tobytes() == expected.tobytes()
