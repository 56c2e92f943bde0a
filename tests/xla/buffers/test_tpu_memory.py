"""What XLA:TPU stores of small programs, by rule: no compiler runs.

What it allocates for many programs is compared by `on_targets.py`.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

MIB = 1 << 20
_MESH = 'sdy.mesh @mesh = <["x"=4]>'
_ROWS = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
_WHOLE = "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"
_SQUARE = "tensor<1024x1024xf32>"


def _temporaries(text: str, target: str = "tpu-v5p") -> float:
    """The temporaries of a program on each device, in half MiB, but for addresses of tuples (32 KiB each)."""
    result = propagate(Program.parse(f"{_MESH}\n{text}", as_compiled=True), progress=False)
    return result.memory(target).estimate.temporaries * 2 // MIB / 2


def _dot(left: str, right: str) -> str:
    types = f"({_SQUARE}, {_SQUARE}) -> {_SQUARE}"
    return f"stablehlo.dot_general {left}, {right}, contracting_dims = [1] x [0] : {types}"


def _chain(middle: str, precision: str = "") -> str:
    """Two products of whole matrices of 4 MiB, with lines between."""
    last = _dot("%1", "%w").replace("[0] :", f"[0]{precision} :")
    return f"""
    func.func @main(%x: {_SQUARE}, %w: {_SQUARE}) -> {_SQUARE} {{
      %0 = {_dot("%x", "%w")}
      {middle}
      %2 = {last}
      return %2 : {_SQUARE}
    }}"""


_TANH = f"%1 = stablehlo.tanh %0 : {_SQUARE}"


def test_what_only_products_read_is_of_bf16() -> None:
    """And the tanh is computed with the first product, so that this is not stored in f32."""
    assert _temporaries(_chain(_TANH)) == 2
    assert _temporaries(_chain(_TANH, ", precision = [HIGHEST, HIGHEST]")) == 4


def test_a_product_takes_what_makes_its_operand() -> None:
    """An exponential of an argument is computed in both products that read it."""
    text = f"""
    func.func @main(%x: {_SQUARE}, %w: {_SQUARE}) -> ({_SQUARE}, {_SQUARE}) {{
      %0 = stablehlo.exponential %x : {_SQUARE}
      %1 = {_dot("%0", "%w")}
      %2 = {_dot("%w", "%0")}
      return %1, %2 : {_SQUARE}, {_SQUARE}
    }}"""
    assert _temporaries(text) == 0


def _gathered(lines: str) -> str:
    return f"""
    func.func @main(%x: {_SQUARE} {_ROWS}) -> ({_SQUARE} {_WHOLE}) {{
      %0 = sdy.sharding_constraint %x <@mesh, [{{}}, {{}}]> : {_SQUARE}
      {lines}
    }}"""


def test_what_is_gathered_is_not_in_the_memory_of_results() -> None:
    assert _temporaries(_gathered(f"return %0 : {_SQUARE}")) == 4
    applied = f"%1 = stablehlo.sine %0 : {_SQUARE} return %1 : {_SQUARE}"
    assert _temporaries(_gathered(applied)) == 4


def test_fusions_of_v5p_are_in_vmem() -> None:
    """What one op makes of what is gathered is in HBM, what two do is not."""
    one = f"%1 = stablehlo.tanh %0 : {_SQUARE} "
    two = f"{one} %2 = stablehlo.multiply %1, %0 : {_SQUARE} "
    end = f"%3 = stablehlo.custom_call @mine(%{{}}) : ({_SQUARE}) -> {_SQUARE} return %3 : {_SQUARE}"
    assert _temporaries(_gathered(one + end.format(1))) == 8
    assert _temporaries(_gathered(two + end.format(2))) == 4
    assert _temporaries(_gathered(two + end.format(2)), "tpu7x") == 8


_LOOP = """
func.func @main(%w: tensor<8x512x512xf32>, %x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %h = %x, %v = %w)
      : tensor<i32>, tensor<512x512xf32>, tensor<8x512x512xf32>
  cond {
    %end = stablehlo.constant dense<8> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_slice %v, %i, %none, %none, sizes = [1, 512, 512]
        : (tensor<8x512x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x512x512xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x512x512xf32>) -> tensor<512x512xf32>
    %4 = stablehlo.dot_general %h, %3, contracting_dims = [1] x [0]PRECISION
        : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %4, %v : tensor<i32>, tensor<512x512xf32>, tensor<8x512x512xf32>
  }
  return %0#1 : tensor<512x512xf32>
}
"""


def test_what_loops_round_is_converted_before() -> None:
    """The stacked weights are 8 MiB in f32, and 4 MiB in the bf16 that the loop reads."""
    exact = _temporaries(_LOOP.replace("PRECISION", ", precision = [HIGHEST, HIGHEST]"))
    rounded = _temporaries(_LOOP.replace("PRECISION", ""))
    assert 3 < rounded - exact < 5


def _interval(text: str) -> tuple[float, float]:
    """The least and the most temporaries in HBM of a program for v6e, in MiB."""
    result = propagate(Program.parse(f"{_MESH}\n{text}", as_compiled=True), progress=False)
    estimate = result.memory("tpu-v6e").estimate
    return (estimate.temporaries - estimate.in_vmem) / MIB, estimate.temporaries / MIB


_ROW = "tensor<256x256xf32>"


def _on_rows(lines: str, results: str) -> str:
    types = ", ".join([_ROW] * len(results.split(",")))
    return f"func.func @main(%x: {_ROW}, %w: {_ROW}) -> ({types}) {{ {lines} return {results} : {types} }}"


_PRODUCT = f"stablehlo.dot_general {{}}, %w, contracting_dims = [1] x [0] : ({_ROW}, {_ROW}) -> {_ROW}"


def test_what_fits_beside_arguments_is_in_vmem() -> None:
    """Three matrices of 4 MiB and what is between two products; not three of 64 MiB.

    Of those the one that both products read is copied into VMEM before the program starts, as XLA:TPU has it,
    so that what is between has no room.
    """
    assert _interval(_chain(_TANH)) == (0, 0)
    least, most = _interval(_chain(_TANH).replace("1024x1024", "4096x4096"))
    assert least == pytest.approx(0.85 * 32, abs=0.1)
    assert 32 <= most <= 1.1 * 32.5  # with the margins of `partly_in_vmem.py`


def test_what_calls_make_may_be_in_hbm() -> None:
    """If that of the result is not free for it. Then all tuples have addresses: 16 KiB each, twice."""
    assert _interval(_on_rows(f"%0 = {_PRODUCT.format('%x')}", "%0")) == (0, 0)
    call = f"%0 = stablehlo.custom_call @filter(%x) : ({_ROW}) -> {_ROW} %1 = {_PRODUCT.format('%0')}"
    least, most = _interval(_on_rows(call, "%1"))
    assert least == 0
    assert 0.25 < most < 0.6


def test_elements_are_not_in_vmem() -> None:
    """A sum is in the memory of a result that is made later; a second one beside it is not."""
    total = f"""
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 1]
            : ({_ROW}, tensor<f32>) -> tensor<f32>
        %1 = stablehlo.reduce(%w init: %c) applies stablehlo.maximum across dimensions = [0, 1]
            : ({_ROW}, tensor<f32>) -> tensor<f32>
        %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> {_ROW}
        %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> {_ROW}
        %4 = stablehlo.add %2, {{}} : {_ROW}
        %5 = {_PRODUCT.format("%4")}
        """
    assert _interval(_on_rows(total.format("%w"), "%4, %5")) == (0, 0)
    assert _interval(_on_rows(total.format("%3"), "%4, %5"))[1] > 0


def test_what_is_gathered_has_tiles() -> None:
    """A gathered matrix of 4 KiB has 16: rows of 32 are in lanes of 128, as what each device has is."""
    small = _gathered(f"return %0 : {_SQUARE}").replace("1024x1024", "32x32")
    result = propagate(Program.parse(f"{_MESH}\n{small}", as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == 16 << 10


def _kib(text: str, target: str = "tpu-v5p") -> int:
    """The temporaries of a program of one device, in KiB."""
    result = propagate(Program.parse(text), progress=False)
    return result.memory(target).estimate.temporaries >> 10


_LOOK_UP = """
    func.func @main(%x: tensor<4096x{0}xf32>, %i: tensor<512x1xi32>) -> tensor<512xf32> {{
      %0 = stablehlo.sine %x : tensor<4096x{0}xf32>
      %1 = "stablehlo.gather"(%0, %i) <{{
        dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
          start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, {0}>
      }}> : (tensor<4096x{0}xf32>, tensor<512x1xi32>) -> tensor<512x{0}xf32>
      %2 = stablehlo.tanh %1 : tensor<512x{0}xf32>
      %3 = stablehlo.constant dense<0.0> : tensor<f32>
      %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1]
        : (tensor<512x{0}xf32>, tensor<f32>) -> tensor<512xf32>
      return %4 : tensor<512xf32>
    }}"""


def test_rows_that_are_looked_up_are_padded() -> None:
    """What an op makes with its columns in rows of tiles is copied, so that rows of 48 take 128 columns.

    Of 128 columns nothing is copied. XLA:TPU allocates 2,916,320 bytes for the sine, its copy and 512 rows.
    """
    narrow, wide = _kib(_LOOK_UP.format(48)), _kib(_LOOK_UP.format(128))
    table, rows = 4096 * 128 * 4 >> 10, 512 * 128 * 4 >> 10
    assert wide - table <= rows + 160
    assert table + rows <= narrow <= table + 4096 * 48 * 4 / 1024 + rows + 160


def test_parts_are_copied_into_rows_before_they_are_gathered() -> None:
    """Rows of 64 are looked up in rows of tiles: what is gathered is padded, and nothing is copied of it.

    Of 2,048 such rows in a network XLA:TPU copies 128 KiB on each of eight devices, and gathers 1 MiB.
    """
    text = """
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%t: tensor<16384x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        %i: tensor<512x1xi32>) -> tensor<512xf32> {
      %0 = sdy.sharding_constraint %t <@mesh, [{}, {}]> : tensor<16384x64xf32>
      %1 = "stablehlo.gather"(%0, %i) <{
        dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
          start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>
      }> : (tensor<16384x64xf32>, tensor<512x1xi32>) -> tensor<512x64xf32>
      %2 = stablehlo.constant dense<0.0> : tensor<f32>
      %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [1]
        : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
      return %3 : tensor<512xf32>
    }"""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    whole, part, rows = 8192, 1024, 256
    assert whole + part <= result.memory("tpu-v5p").estimate.temporaries >> 10 <= whole + part + rows + 160


_CONVOLUTIONS = """
    func.func @main(%x: tensor<{0}x28x28x{1}xf32>, %v: tensor<3x3x{1}x{1}xf32>) -> tensor<f32> {{
      %0 = {2} (tensor<{0}x28x28x{1}xf32>, tensor<3x3x{1}x{1}xf32>) -> tensor<{0}x28x28x{1}xf32>
      %1 = stablehlo.tanh %0 : tensor<{0}x28x28x{1}xf32>
      %2 = {3} (tensor<{0}x28x28x{1}xf32>, tensor<3x3x{1}x{1}xf32>) -> tensor<{0}x28x28x{1}xf32>
      %3 = stablehlo.constant dense<0.0> : tensor<f32>
      %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [0, 1, 2, 3]
        : (tensor<{0}x28x28x{1}xf32>, tensor<f32>) -> tensor<f32>
      return %4 : tensor<f32>
    }}"""


def _convolutions(batch: int, features: int) -> int:
    form = """stablehlo.convolution({}, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {{pad = [[1, 1], [1, 1]]}}
        {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} :"""
    return _kib(_CONVOLUTIONS.format(batch, features, form.format("%x"), form.format("%1")))


def test_convolutions_have_batch_and_features_in_tiles() -> None:
    """The one that pads less is in rows of 128: features of 32 beside a batch of 16, but a batch of 128.

    Then the next convolution computes the activation, of f32.
    """
    tile = 28 * 28 * 2 >> 10  # KiB of one element of bf16 of all places, rounded down
    assert 16 * 128 * tile <= _convolutions(16, 32) <= 16 * 128 * (tile + 1) + 160
    assert 128 * 32 * 2 * tile <= _convolutions(128, 32) <= 128 * 32 * 2 * (tile + 1) + 160


def test_rows_that_are_scattered_need_no_memory_for_zeros() -> None:
    """The sum of rows is padded, and copied into the result; XLA:TPU allocates 2,129,888 bytes for more."""
    found = _kib("""
    func.func @main(%u: tensor<512x64xf32>, %i: tensor<512x1xi32>) -> tensor<4096x64xf32> {
      %0 = stablehlo.constant dense<0.0> : tensor<f32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4096x64xf32>
      %2 = "stablehlo.scatter"(%1, %i, %u) <{
        scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
          scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
      }> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %3 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }) : (tensor<4096x64xf32>, tensor<512x1xi32>, tensor<512x64xf32>) -> tensor<4096x64xf32>
      return %2 : tensor<4096x64xf32>
    }""")
    sums, rows = 4096 * 128 * 4 >> 10, 512 * 128 * 4 >> 10
    assert sums <= found <= sums + rows + 160


def test_a_sum_of_scatters_starts_with_a_value_on_one_device() -> None:
    """Others start with zeros: XLA:TPU masks the copied argument, in 540,704 bytes with two tuples."""
    program = Program.parse(
        """
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%a: tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        %i: tensor<256x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        %u: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
        -> (tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
      %0 = "stablehlo.scatter"(%a, %i, %u) <{
        scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
          scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
      }> ({
      ^bb0(%b: tensor<f32>, %c: tensor<f32>):
        %1 = stablehlo.add %b, %c : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<512x64xf32>, tensor<256x1xi32>, tensor<256x64xf32>) -> tensor<512x64xf32>
      return %0 : tensor<512x64xf32>
    }""",
        as_compiled=True,
    )
    found = propagate(program, progress=False).memory("tpu-v5p").estimate.temporaries
    copy = 512 * 128 * 4
    assert 2 * copy <= found <= 2 * copy + (64 << 10)


def test_an_argument_is_copied_into_columns_to_select_its_largest_elements() -> None:
    """Also with padding; not where it has no more rows than are selected, as results are row-major then."""
    for rows, copied in ((128, 128), (9, 128), (8, 0)):
        type_ = f"tensor<{rows}x4096xf32>"
        text = f"""
        func.func @main(%x: {type_}) -> tensor<{rows}x8xf32> {{
          %v, %i = chlo.top_k(%x, k = 8)
            : {type_} -> (tensor<{rows}x8xf32>, tensor<{rows}x8xi32>)
          return %v : tensor<{rows}x8xf32>
        }}"""
        result = propagate(Program.parse(text, as_compiled=True), progress=False)
        size = copied * 4096 * 4
        assert size <= result.memory("tpu-v5p").estimate.temporaries <= size + (1 << 17)


def test_a_choice_between_kernels_by_one_predicate_has_their_order() -> None:
    """The predicate has none: it is repeated where it is read, as of steps that are skipped if not finite."""
    text = """
func.func @main(%p: tensor<i1>, %x: tensor<8x32x32x192xf32>, %y: tensor<8x32x32x192xf32>,
                %k: tensor<3x3x192x192xf32>) -> tensor<3x3x192x192xf32> {
  %g = stablehlo.convolution(%x, %y) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
    window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<8x32x32x192xf32>, tensor<8x32x32x192xf32>) -> tensor<3x3x192x192xf32>
  %s = stablehlo.select %p, %g, %k
    : (tensor<i1>, tensor<3x3x192x192xf32>, tensor<3x3x192x192xf32>) -> tensor<3x3x192x192xf32>
  return %s : tensor<3x3x192x192xf32>
}"""
    estimate = propagate(Program.parse(text), progress=False).memory("tpu-v5p").estimate
    assert estimate.results == 3 * 3 * 192 * 256 * 4, "256: whole tiles"
