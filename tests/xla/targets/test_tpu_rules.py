"""What XLA:TPU makes of collectives, on a small program for each rule.

The figures are those of XLA:TPU for such programs, of jax 0.10.2. Programs of real kinds are compared by
`on_compilers.py`; nothing is compiled here.
"""

from __future__ import annotations

from math import prod

import pytest

from shardy_py import Program, propagate

_TWO_AXES = 'sdy.mesh @mesh = <["x"=2, "y"=4]>'
_ONE_AXIS = 'sdy.mesh @mesh = <["x"=8]>'

Sent = tuple[str, tuple[int | None, ...], str]
"""The kind of a collective, the shape that each device has before it, and the type of elements."""


def _sent(text: str, target: str = "tpu-v5p") -> list[Sent]:
    report = propagate(Program.parse(text), progress=False).communication(target=target)
    return [(use.kind, use.type.shape, use.type.element) for use in report.sending]


def _function(mesh: str, arguments: str, results: str, body: str) -> str:
    return f"{mesh}\nfunc.func @main({arguments}) -> ({results}) {{\n{body}\n}}"


def _sharded(type_: str, *axes: str) -> str:
    dimensions = ", ".join(f'{{"{axis}"}}' if axis else "{}" for axis in axes)
    return f"{type_} {{sdy.sharding = #sdy.sharding<@mesh, [{dimensions}]>}}"


_SUM = """
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<64x128x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>"""


@pytest.mark.parametrize(("target", "axes"), [("cpu", [("y",), ("x",)]), ("tpu-v5p", [("x", "y")])])
def test_a_sum_along_two_dimensions_is_one_over_all_their_devices(
    target: str, axes: list[tuple[str, ...]]
) -> None:
    text = _function(
        _TWO_AXES, f"%a: {_sharded('tensor<64x128x256xf32>', 'x', 'y', '')}", "tensor<256xf32>", _SUM
    )
    report = propagate(Program.parse(text), progress=False).communication(target=target)
    assert [(use.type.shape, use.axis_names) for use in report.sending] == [((256,), each) for each in axes]


def test_sums_of_groups_of_a_product_stay_apart() -> None:
    body = """
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [0, 1]
      : (tensor<64x128x256xf32>, tensor<64x128x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>"""
    first, second = "tensor<64x128x256xf32>", "tensor<64x128x512xf32>"
    for axis, count in (("y", 1), ("", 2)):
        arguments = f"%a: {_sharded(first, 'x', 'y', '')}, %b: {_sharded(second, 'x', axis, '')}"
        kinds = [kind for kind, _, _ in _sent(_function(_TWO_AXES, arguments, "tensor<256x512xf32>", body))]
        assert kinds == ["all_reduce"] * count


def test_equal_steps_are_one_before_the_partitioner() -> None:
    sums = "\n".join(
        f"""  %s{i} = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>"""
        for i in range(2)
    )
    body = f"""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
{sums}
  %0 = stablehlo.tanh %s0 : tensor<16xf32>
  %1 = stablehlo.cosine %s1 : tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>"""
    text = _function(
        _ONE_AXIS, f"%a: {_sharded('tensor<64x16xf32>', 'x', '')}", "tensor<16xf32>, tensor<16xf32>", body
    )
    assert _sent(text) == [("all_reduce", (16,), "f32")]


def _sort(is_stable: str) -> str:
    result = _sharded("tensor<64x128xf32>", "", "x")
    body = f"""
  %0 = "stablehlo.sort"(%a) <{{dimension = 1 : i64, is_stable = {is_stable}}}> ({{
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) : (tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>"""
    return _function(_ONE_AXIS, f"%a: {_sharded('tensor<64x128xf32>', '', 'x')}", result, body)


@pytest.mark.parametrize(("is_stable", "types"), [("false", ["f32", "f32"]), ("true", ["f32", "i32", "f32"])])
def test_a_stable_sort_also_moves_places(is_stable: str, types: list[str]) -> None:
    sent = _sent(_sort(is_stable))
    assert [kind for kind, _, _ in sent] == ["all_to_all"] * len(types)
    assert sorted(element for _, _, element in sent) == sorted(types)


@pytest.mark.parametrize(("first", "kind"), [(8, "collective_permute"), (64, "all_to_all")])
def test_short_operands_are_joined_by_what_is_at_borders(first: int, kind: str) -> None:
    types = f"tensor<{first}x32xf32>", "tensor<64x32xf32>", f"tensor<{first + 64}x32xf32>"
    body = f"""
  %0 = stablehlo.concatenate %a, %b, dim = 0 : ({types[0]}, {types[1]}) -> {types[2]}
  return %0 : {types[2]}"""
    arguments = f"%a: {_sharded(types[0], 'x', '')}, %b: {_sharded(types[1], 'x', '')}"
    text = _function(_ONE_AXIS, arguments, _sharded(types[2], "x", ""), body)
    assert kind in {sent for sent, _, _ in _sent(text)}
    assert "all_to_all" in {sent for sent, _, _ in _sent(text, "h100")}


@pytest.mark.parametrize(
    ("type_", "words"),
    [("i1", 1024), ("i8", 1024), ("i16", 2048), ("f16", 2048)],
)
def test_sums_of_narrow_elements_are_sent_in_words_with_their_tiles(type_: str, words: int) -> None:
    """9 x 130 elements take 16 x 256 of them in tiles."""
    body = f"""
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}, {{}}, {{}}]>]
      out_shardings=[<@mesh, [{{}}, {{}}, {{}}]>] manual_axes={{"x"}} (%l: tensor<1x9x130x{type_}>) {{
    %1 = "stablehlo.all_reduce"(%l) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}}> ({{
    ^bb0(%p: tensor<{type_}>, %q: tensor<{type_}>):
      %2 = stablehlo.add %p, %q : tensor<{type_}>
      stablehlo.return %2 : tensor<{type_}>
    }}) : (tensor<1x9x130x{type_}>) -> tensor<1x9x130x{type_}>
    sdy.return %1 : tensor<1x9x130x{type_}>
  }} : (tensor<8x9x130x{type_}>) -> tensor<1x9x130x{type_}>
  return %0 : tensor<1x9x130x{type_}>"""
    whole = f"tensor<8x9x130x{type_}>"
    text = _function(_ONE_AXIS, f"%a: {_sharded(whole, 'x', '', '')}", f"tensor<1x9x130x{type_}>", body)
    assert _sent(text) == [("all_reduce", (words,), "ui32")]


def _scattered(rows: int) -> str:
    body = f"""
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}, {{}}]>]
      out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%l: tensor<{rows}x128xf32>) {{
    %1 = "stablehlo.reduce_scatter"(%l) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, scatter_dimension = 0 : i64,
        use_global_device_ids}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %2 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }}) : (tensor<{rows}x128xf32>) -> tensor<{rows // 8}x128xf32>
    sdy.return %1 : tensor<{rows // 8}x128xf32>
  }} : (tensor<{8 * rows}x128xf32>) -> tensor<{rows}x128xf32>
  return %0 : tensor<{rows}x128xf32>"""
    argument, result = (_sharded(f"tensor<{size}x128xf32>", "x", "") for size in (8 * rows, rows))
    return _function(_ONE_AXIS, f"%a: {argument}", result, body)


@pytest.mark.parametrize(
    ("target", "rows", "kind"),
    [
        ("tpu-v5p", 512, "all_reduce"),  # all devices of a torus of three dimensions
        ("tpu-v6e", 64, "all_reduce"),  # parts of a single tile
        ("tpu-v6e", 512, "reduce_scatter"),
        ("h100", 64, "reduce_scatter"),
    ],
)
def test_what_the_program_scatters_is_summed_whole_where_others_are(
    target: str, rows: int, kind: str
) -> None:
    assert _sent(_scattered(rows), target)[0][0] == kind


_GATHERED = """
  %0 = stablehlo.sine %a : tensor<512x256xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<512x256xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}, {}]> : tensor<512x256xf32>
"""


def test_cumulative_sums_send_totals_of_rows() -> None:
    """512 elements on 4 devices are a row of 128 on each."""
    type_ = "tensor<512x8xf32>"
    body = f"""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{{padding = dense<[[511, 0], [0, 0]]> : tensor<2x2xi64>,
      window_dimensions = array<i64: 512, 1>}}> ({{
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : ({type_}, tensor<f32>) -> {type_}
  return %0 : {type_}"""
    rows = _sharded(type_, "y", "")
    text = _function(_TWO_AXES, f"%a: {rows}", rows, body)
    sent = _sent(text)
    assert max(_elements(shape) for _, shape, _ in sent) <= 4 * 8
    assert max(_elements(shape) for _, shape, _ in _sent(text, "h100")) == 128 * 8


def _elements(shape: tuple[int | None, ...]) -> int:
    return prod(size or 0 for size in shape)


@pytest.mark.parametrize(("experts", "shapes"), [(32, []), (512, [(8, 4)])])
def test_few_of_many_are_selected_by_a_call_and_others_by_a_sort(
    experts: int, shapes: list[tuple[int, int]]
) -> None:
    """A call's values are gathered in parts; what is sorted is where rows are, and needs no device."""
    type_ = f"tensor<64x{experts}xf32>"
    body = f"""
  %0, %1 = chlo.top_k(%a, k = 4) : {type_} -> (tensor<64x4xf32>, tensor<64x4xi32>)
  return %0, %1 : tensor<64x4xf32>, tensor<64x4xi32>"""
    results = "tensor<64x4xf32>, tensor<64x4xi32>"
    sent = _sent(_function(_ONE_AXIS, f"%a: {_sharded(type_, 'x', '')}", results, body))
    assert len(sent) == len(shapes)
    assert all(_elements(shape) <= 64 * 4 for _, shape, _ in sent)


def test_what_the_condition_of_a_loop_reads_is_sent_in_f32() -> None:
    type_, scalar = "tensor<64x16xf32>", "tensor<f32>"
    body = f"""
  %zero = stablehlo.constant dense<0.0> : {scalar}
  %0:2 = stablehlo.while(%x = %a, %e = %zero) : {type_}, {scalar}
  cond {{
    %limit = stablehlo.constant dense<1.0e+09> : {scalar}
    %1 = stablehlo.compare LT, %e, %limit : ({scalar}, {scalar}) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %none = stablehlo.constant dense<0.0> : {scalar}
    %2 = stablehlo.add %x, %x : {type_}
    %3 = stablehlo.reduce(%2 init: %none) applies stablehlo.maximum across dimensions = [0, 1]
        : ({type_}, {scalar}) -> {scalar}
    stablehlo.return %2, %3 : {type_}, {scalar}
  }}
  return %0#0 : {type_}"""
    rows = _sharded(type_, "x", "")
    assert _sent(_function(_ONE_AXIS, f"%a: {rows}", rows, body)) == [("all_reduce", (), "f32")]


def test_scattered_sums_are_added_up_in_f32() -> None:
    mesh = 'sdy.mesh @mesh = <["x"=4, "y"=2]>'
    body = """
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<512x512xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
      : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %2 : tensor<512x64xf32>"""
    left, right = _sharded("tensor<512x256xf32>", "", "x"), _sharded("tensor<256x512xf32>", "x", "")
    arguments = f"%a: {left}, %b: {right}, %w: tensor<512x64xf32>"
    text = _function(mesh, arguments, _sharded("tensor<512x64xf32>", "x", ""), body)
    assert _sent(text) == [("reduce_scatter", (512, 512), "f32")]


@pytest.mark.parametrize(("columns", "element"), [(1, "f32"), (2, "bf16")])
def test_a_product_with_a_vector_reads_f32(columns: int, element: str) -> None:
    types = f"tensor<256x{columns}xf32>", f"tensor<512x{columns}xf32>"
    body = f"""{_GATHERED}
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0]
      : (tensor<512x256xf32>, {types[0]}) -> {types[1]}
  return %3 : {types[1]}"""
    arguments = f"%a: {_sharded('tensor<512x256xf32>', 'x', '')}, %w: {types[0]}"
    assert _sent(_function(_ONE_AXIS, arguments, types[1], body)) == [("all_gather", (64, 256), element)]


def test_a_scatter_adds_up_in_f32_what_a_product_rounds() -> None:
    """Updates are gathered in f32, though only a product reads the sums."""
    rows, table, weight = "tensor<64x32xf32>", "tensor<256x32xf32>", "tensor<32x16xf32>"
    body = f"""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {table}
  %1 = sdy.sharding_constraint %u <@mesh, [{{}}, {{}}]> : {rows}
  %2 = "stablehlo.scatter"(%0, %i, %1) <{{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }}) : ({table}, tensor<64x1xi32>, {rows}) -> {table}
  %4 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : ({table}, {weight}) -> tensor<256x16xf32>
  return %4 : tensor<256x16xf32>"""
    arguments = f"%u: {_sharded(rows, 'x', '')}, %i: tensor<64x1xi32>, %w: {weight}"
    text = _function(_ONE_AXIS, arguments, "tensor<256x16xf32>", body)
    assert _sent(text) == [("all_gather", (8, 32), "f32")]


@pytest.mark.parametrize(("between", "count"), [(20, 1), (120, 2)])
def test_gathers_for_steps_far_apart_stay_two(between: int, count: int) -> None:
    """The users of the first are more than a hundred ops farther from the results than the second."""
    type_ = "tensor<256x256xf32>"
    product = f"contracting_dims = [1] x [0] : ({type_}, {type_}) -> {type_}"
    chain = "\n".join(f"  %c{i + 1} = stablehlo.sine %c{i} : {type_}" for i in range(between))
    body = f"""
  %c0 = stablehlo.dot_general %x, %w, {product}
{chain}
  %0 = stablehlo.dot_general %c{between}, %w, {product}
  return %0 : {type_}"""
    rows = _sharded(type_, "x", "")
    text = _function(_ONE_AXIS, f"%x: {rows}, %w: {rows}", rows, body)
    assert _sent(text) == [("all_gather", (32, 256), "bf16")] * count
    assert len(_sent(text, "h100")) == 1


def test_windows_that_read_the_same_borders_exchange_them_once() -> None:
    image, kernel, made = "tensor<8x64x32x4xf32>", "tensor<3x3x4x16xf32>", "tensor<8x64x32x16xf32>"
    window = """dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"""
    body = f"""
  %0 = stablehlo.convolution(%x, %a) {window} : ({image}, {kernel}) -> {made}
  %1 = stablehlo.convolution(%x, %b) {window} : ({image}, {kernel}) -> {made}
  %2 = stablehlo.multiply %0, %1 : {made}
  return %2 : {made}"""
    arguments = f"%x: {_sharded(image, '', 'x', '', '')}, %a: {kernel}, %b: {kernel}"
    text = _function(_ONE_AXIS, arguments, _sharded(made, "", "x", "", ""), body)
    assert _sent(text) == [("collective_permute", (8, 1, 32, 4), "bf16")] * 2


def test_a_kernel_is_gathered_once_for_a_convolution_and_its_gradient() -> None:
    image, kernel = "tensor<8x32x32x16xf32>", "tensor<3x3x16x16xf32>"
    window = (
        """window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"""
    )
    body = f"""
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], {window}
      : ({image}, {kernel}) -> {image}
  %1 = stablehlo.sine %0 : {image}
  %2 = stablehlo.reverse %w, dims = [0, 1] : {kernel}
  %3 = stablehlo.convolution(%1, %2) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], {window}
      : ({image}, {kernel}) -> {image}
  return %3 : {image}"""
    batch = _sharded(image, "x", "", "", "")
    arguments = f"%x: {batch}, %w: {_sharded(kernel, '', '', 'x', '')}"
    assert _sent(_function(_ONE_AXIS, arguments, batch, body)) == [("all_gather", (3, 3, 2, 16), "bf16")]


@pytest.mark.parametrize(("shape", "kind"), [((64, 1), "all_reduce"), ((4096, 1), "all_gather")])
def test_vectors_with_dimensions_of_one_element_are_vectors(shape: tuple[int, int], kind: str) -> None:
    type_ = f"tensor<{shape[0]}x{shape[1]}xf32>"
    body = f"""
  %0 = stablehlo.sine %a : {type_}
  %1 = sdy.sharding_constraint %0 <@mesh, [{{"x"}}, {{}}]> : {type_}
  %2 = sdy.sharding_constraint %1 <@mesh, [{{}}, {{}}]> : {type_}
  %3 = stablehlo.cosine %2 : {type_}
  return %3 : {type_}"""
    assert _sent(_function(_ONE_AXIS, f"%a: {_sharded(type_, 'x', '')}", type_, body))[0][0] == kind


def test_a_set_grows_on_behind_a_sum_that_needs_one_of_it() -> None:
    """The first sum and the third do not need each other; the second needs the first."""

    def summed(name: str, value: str) -> str:
        return f"""
  %{name} = stablehlo.reduce(%{value} init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
  %{name}_all = stablehlo.broadcast_in_dim %{name}, dims = [1] : (tensor<16xf32>) -> tensor<64x16xf32>"""

    body = f"""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>{summed("first", "a")}
  %scaled = stablehlo.multiply %a, %first_all : tensor<64x16xf32>{summed("second", "scaled")}
{summed("third", "b")}
  %square = stablehlo.multiply %b, %third_all : tensor<64x16xf32>{summed("fourth", "square")}
  return %first, %second, %third, %fourth : {", ".join(["tensor<16xf32>"] * 4)}"""
    rows = _sharded("tensor<64x16xf32>", "x", "")
    text = _function(_ONE_AXIS, f"%a: {rows}, %b: {rows}", ", ".join(["tensor<16xf32>"] * 4), body)
    counts = {
        target: len(propagate(Program.parse(text), progress=False).communication(target=target).sending)
        for target in ("tpu-v5p", "h100")
    }
    assert counts == {"tpu-v5p": 2, "h100": 3}
