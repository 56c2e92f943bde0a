"""Loops that need values in an order: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=8]>\n'
_TABLE, _ROW = "tensor<65536x32xf32>", "tensor<32xf32>"
_NEAR = 192 << 10
_SLICED = f"""
  %3 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [{{rows}}, 32]
    : ({_TABLE}, tensor<i32>, tensor<i32>) -> tensor<{{rows}}x32xf32>
  {{row}}
  %5 = stablehlo.add %c, %4 : {_ROW}"""
_OF_ONE_ROW = _SLICED.format(rows=1, row=f"%4 = stablehlo.reshape %3 : (tensor<1x32xf32>) -> {_ROW}")
_OF_EIGHT_ROWS = _SLICED.format(
    rows=8,
    row="%4 = stablehlo.reduce(%3 init: %start) applies stablehlo.add across dimensions = [0]"
    f" : (tensor<8x32xf32>, tensor<f32>) -> {_ROW}",
)


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _loop(body: str, carried: str, start: str = "", sharding: str = "") -> str:
    """A loop of ten iterations, whose body makes %5 of a table, what is carried, and the iteration."""
    given = "%c0" if not start else "%s"
    return f"""
    func.func @main(%x: {_TABLE} {sharding}, %c0: {carried}, %p: tensor<65536x1xi32>) -> {carried} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<f32>
      {start}
      %0:2 = stablehlo.while(%i = %zero, %c = {given}) : tensor<i32>, {carried}
      cond {{
        %1 = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }} do {{
        %2 = stablehlo.add %i, %one : tensor<i32>
        {body}
        stablehlo.return %2, %5 : tensor<i32>, {carried}
      }}
      return %0#1 : {carried}
    }}"""


@pytest.mark.parametrize(
    ("body", "allocated"), [(_OF_ONE_ROW, 33684896), (_OF_EIGHT_ROWS, 0)], ids=["one", "eight"]
)
def test_a_table_of_which_iterations_slice_a_row_is_put_into_rows_before(body: str, allocated: int) -> None:
    """32 elements fill one of four tiles of 128 lanes; what is sliced of it otherwise stays in columns."""
    assert abs(_temporaries(_loop(body, _ROW)) - allocated) <= _NEAR


def test_a_gather_in_a_loop_is_in_the_order_of_the_table_around_it() -> None:
    """All that is gathered is in rows, and so is the part that a device copies before the loop."""
    sharding = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    assert abs(_temporaries(_loop(_OF_ONE_ROW, _ROW, sharding=sharding)) - 37879712) <= _NEAR


def test_what_a_loop_adds_rows_to_is_in_rows_at_both_ends() -> None:
    """The table, what is looked up of it, and the sum: two of them at one time, of 32 MiB each."""
    body = f"""
        %3 = "stablehlo.gather"(%x, %p) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
          collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
          slice_sizes = array<i64: 1, 32>}}> : ({_TABLE}, tensor<65536x1xi32>) -> {_TABLE}
        %4 = stablehlo.multiply %3, %x : {_TABLE}
        %5 = stablehlo.add %c, %4 : {_TABLE}"""
    start = f"%s = stablehlo.broadcast_in_dim %start, dims = [] : (tensor<f32>) -> {_TABLE}"
    assert abs(_temporaries(_loop(body, _TABLE, start)) - 67207104) <= _NEAR
