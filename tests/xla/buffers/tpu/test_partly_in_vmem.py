"""The HBM of programs that do not fit into VMEM, on chips that may have any value there: no compiler runs.

XLA:TPU allocates nothing for the first program on v6e, and 128 MiB for the second.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py import Program, propagate
from shardy_py.xla.buffers.estimated import MemoryEstimate

MIB = 1 << 20


def _chain(rows: int, products: int = 3) -> str:
    """Products of rows by a matrix of 128 MiB, one after the other."""
    rows_type, square = f"tensor<{rows}x8192xbf16>", "tensor<8192x8192xbf16>"
    lines = [
        f"%{n + 1} = stablehlo.dot_general %{n or 'x'}, %w, contracting_dims = [1] x [0] : "
        f"({rows_type}, {square}) -> {rows_type}"
        for n in range(products)
    ]
    body = "\n".join(lines)
    return (
        f"func.func @main(%x: {rows_type}, %w: {square}) -> {rows_type} {{\n{body}\n"
        f"return %{products} : {rows_type}}}"
    )


def _estimate(text: str, target: str) -> MemoryEstimate:
    estimate = propagate(Program.parse(text, as_compiled=True), progress=False).memory(target).estimate
    assert estimate is not None
    return estimate


def _temporaries(text: str, target: str) -> tuple[float, float]:
    """At least and at most, in MiB."""
    estimate = _estimate(text, target)
    return (estimate.temporaries - estimate.in_vmem) / MIB, estimate.temporaries / MIB


@pytest.mark.parametrize("target", ["tpu-v5e", "tpu-v6e"])
def test_what_products_make_may_be_in_vmem(target: str) -> None:
    least, most = _temporaries(_chain(2048), target)
    assert least == 0
    assert 32 <= most <= 37


def test_what_has_no_room_is_in_hbm() -> None:
    least, most = _temporaries(_chain(8192), "tpu-v6e")
    assert 100 <= least <= 128 <= most <= 144


def test_products_of_v5p_are_in_hbm() -> None:
    """The one that nothing writes over; the other is in the memory of the result."""
    assert _temporaries(_chain(2048), "tpu-v5p") == pytest.approx((32, 32), abs=1)


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 40), st.integers(2, 5), st.sampled_from(["tpu-v5e", "tpu-v6e"]))
def test_what_is_in_vmem_is_a_part(rows: int, products: int, target: str) -> None:
    estimate = _estimate(_chain(256 * rows, products), target)
    assert 0 <= estimate.in_vmem <= estimate.temporaries
    assert estimate.arguments + estimate.results <= estimate.least_bytes <= estimate.total_bytes


def _loop(rows_type: str, body: str) -> str:
    """Four iterations over a value %y, whose body makes %z."""
    return f"""
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, {rows_type}
      cond {{
        %n = stablehlo.constant dense<4> : tensor<i32>
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        {body}
        stablehlo.return %j, %z : tensor<i32>, {rows_type}
      }}"""


def _around_a_loop(rows: int) -> str:
    """A product that is read behind a loop, which makes a product as large in each iteration."""
    kept, square = f"tensor<{rows}x8192xbf16>", "tensor<8192x8192xbf16>"
    product = f"contracting_dims = [1] x [0] : ({kept}, {square}) -> {kept}"
    body = f"%1 = stablehlo.dot_general %y, %w, {product} %z = stablehlo.dot_general %1, %w, {product}"
    return f"""
    func.func @main(%x: {kept}, %w: {square}) -> tensor<bf16> {{
      %kept = stablehlo.dot_general %x, %w, {product}
      {_loop(kept, body)}
      %2 = stablehlo.multiply %0#1, %kept : {kept}
      %none = stablehlo.constant dense<0.0> : tensor<bf16>
      %3 = stablehlo.reduce(%2 init: %none) applies stablehlo.add across dimensions = [0, 1]
          : ({kept}, tensor<bf16>) -> tensor<bf16>
      return %3 : tensor<bf16>
    }}"""


def test_what_loops_make_has_room_first() -> None:
    """Of two values of 64 MiB one is in the 96 MiB of VMEM, of two of 8 MiB both are, as XLA:TPU has them."""
    assert _temporaries(_around_a_loop(512), "tpu-v6e")[0] == 0
    assert _temporaries(_around_a_loop(4096), "tpu-v6e")[0] > 50


def test_loops_have_in_vmem_what_they_replace() -> None:
    """What a product makes in each iteration for the next one; XLA:TPU allocates nothing for it on v6e."""
    rows, square = "tensor<2048x8192xbf16>", "tensor<8192x8192xbf16>"
    product = f"contracting_dims = [1] x [0] : ({rows}, {square}) -> {rows}"
    text = f"""
    func.func @main(%x: {rows}, %w: {square}) -> {rows} {{
      {_loop(rows, f"%z = stablehlo.dot_general %y, %w, {product}")}
      %1 = stablehlo.dot_general %0#1, %w, {product}
      return %1 : {rows}
    }}"""
    least, most = _temporaries(text, "tpu-v6e")
    assert least == 0
    assert most >= 32
