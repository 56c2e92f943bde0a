"""Names of ops are those that XLA has for them: of an inlined op with the name of the call."""

from __future__ import annotations

import pytest

from shardy_py import Program
from shardy_py.search.advice import is_backward

TEXT = """
module @jit_f {{
  func.func public @main(%x: tensor<8xf32> loc("x")) -> tensor<8xf32> {{
    %0 = call @layer(%x) : (tensor<8xf32>) -> tensor<8xf32>
      loc("jit(f)/transpose(jvp(jit(layer)))"("m.py":9:1))
    return %0 : tensor<8xf32>
  }}
  func.func private @layer(%x: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = stablehlo.tanh %x : tensor<8xf32> loc({location})
    return %0 : tensor<8xf32>
  }}
}}
"""
OUTER = "jit(f)/transpose(jvp(jit(layer)))"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ('"tanh"("m.py":3:5)', f"m.py:3:5 {OUTER}/tanh"),
        ('"jit(silu)/tanh"', f"m.py:9:1 {OUTER}/jit(silu)/tanh"),
        ('"tanh:"("tanh"("m.py":3:5))', f"m.py:3:5 {OUTER}/tanh"),
        ('fused["tanh"("m.py":3:5), "exp"("m.py":4:5)]', f"m.py:3:5 {OUTER}/tanh"),
        ("unknown", f"m.py:9:1 {OUTER}"),
    ],
)
def test_inlined_ops_have_the_name_of_the_call(location: str, expected: str) -> None:
    program = Program.parse(TEXT.format(location=location), as_compiled=True)
    (tanh,) = program.values.of_op("tanh")
    assert tanh.location == expected
    assert is_backward(tanh.entry.op.location)  # pyright: ignore[reportAttributeAccessIssue]


def test_kinds_of_ops_are_no_names() -> None:
    text = TEXT.format(location='"pure_callback:"("jit(g)/pure_callback"("m.py":3:5))')
    (tanh,) = Program.parse(text, as_compiled=False).values.of_op("tanh")
    assert tanh.location == "m.py:3:5 jit(g)/pure_callback"
