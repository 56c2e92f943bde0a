"""What `sdy-pad-for-divisibility` does about padding that an op reads, as the C++ of JAX 0.12."""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from tests.differential.modes import run_ours

STEPS = (("sdy-pad-for-divisibility", ""),)
MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'


def per_value(dimensions: str) -> str:
    return f"sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{dimensions}]>]>"


def after(text: str, release: str = "0.12") -> str:
    with releases.of(release):
        return run_ours(MESH + text, STEPS)


REDUCED = f"""func.func @main(%a: tensor<3xf32>) -> tensor<f32> {{
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = sdy.all_slice [{{"x"}}] %a out_sharding=<@mesh, [{{"x"}}]> : tensor<3xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.multiply across dimensions = [0] {{{per_value("")}}}
    : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}}
"""


def test_a_reduce_reads_its_initial_value() -> None:
    assert "stablehlo.broadcast_in_dim %cst, dims = []" in after(REDUCED)
    assert "stablehlo.select" not in after(REDUCED, "0.10")


def test_zeros_are_not_masked_with_zeros() -> None:
    text = after(REDUCED.replace("1.0", "0.0").replace("multiply", "add"))
    assert "stablehlo.pad" in text
    assert "stablehlo.select" not in text


PRODUCT = f"""func.func @main(%a: tensor<3x2xf32>, %b: tensor<2xf32>) -> tensor<3xf32> {{
  %0 = sdy.all_slice [{{"x"}}, {{}}] %a out_sharding=<@mesh, [{{"x"}}, {{}}]> : tensor<3x2xf32>
  %1 = stablehlo.cosine %0 {{{per_value('{"x"}, {}')}}} : tensor<3x2xf32>
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] {{{per_value('{"x"}')}}}
    : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3xf32>
  %3 = sdy.all_gather [{{"x"}}] %2 out_sharding=<@mesh, [{{}}]> : tensor<3xf32>
  return %3 : tensor<3xf32>
}}
"""


@pytest.mark.parametrize(("release", "zeros"), [("0.10", 1), ("0.11", 2), ("0.12", 2)])
def test_products_make_zeros_that_they_do_not_use(release: str, zeros: int) -> None:
    assert after(PRODUCT, release).count("stablehlo.constant") == zeros


DEPTHWISE = f"""func.func @main(%a: tensor<2x3xf32>, %k: tensor<1x3xf32>) -> tensor<2x3xf32> {{
  %0 = sdy.all_slice [{{}}, {{"x"}}] %a out_sharding=<@mesh, [{{}}, {{"x"}}]> : tensor<2x3xf32>
  %1 = sdy.all_slice [{{}}, {{"x"}}] %k out_sharding=<@mesh, [{{}}, {{"x"}}]> : tensor<1x3xf32>
  %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, f]x[i, o]->[b, f], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 3 : i64, {per_value('{}, {"x"}')}}}
    : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %3 = sdy.all_gather [{{}}, {{"x"}}] %2 out_sharding=<@mesh, [{{}}, {{}}]> : tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}}
"""


def test_padded_features_are_groups() -> None:
    assert "feature_group_count = 4" in after(DEPTHWISE)


MOVED = """func.func @main(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = sdy.all_slice [{"x", "y"}, {}] %a out_sharding=<@mesh, [{"x", "y"}, {}]> : tensor<3x4xf32>
  %1 = sdy.all_to_all [{"y"}: 0->1] %0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<3x4xf32>
  %2 = sdy.all_gather [{"x"}, {"y"}] %1 out_sharding=<@mesh, [{}, {}]> : tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}
"""


def test_what_stays_padded_is_sliced_to_itself() -> None:
    text = after(MOVED)
    assert "stablehlo.slice %2 [0:4, 0:4]" in text
    assert "stablehlo.slice %4 [0:3, 0:4]" in text


def gathered(indices: str, vector: int) -> str:
    numbers = (
        f"offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {vector}"
    )
    return f"""func.func @main(%a: tensor<3x1xf32>, %i: tensor<{indices}xi32>) -> tensor<5x1xf32> {{
  %0 = sdy.all_slice [{{"x"}}, {{}}] %a out_sharding=<@mesh, [{{"x"}}, {{}}]> : tensor<3x1xf32>
  %1 = "stablehlo.gather"(%0, %i) <{{dimension_numbers = #stablehlo.gather<{numbers}>,
      slice_sizes = array<i64: 1, 1>}}> {{{per_value("{}, {}")}}}
    : (tensor<3x1xf32>, tensor<{indices}xi32>) -> tensor<5x1xf32>
  return %1 : tensor<5x1xf32>
}}
"""


def test_gathers_do_not_read_padding() -> None:
    """An index beyond the end is that of the last element, not one of padding."""
    vectors, scalars = after(gathered("5x1", 1)), after(gathered("5", 1))
    assert "dense<2> : tensor<1xi32>" in vectors
    assert "stablehlo.minimum %arg1, %2 : tensor<5x1xi32>" in vectors
    assert "stablehlo.minimum %arg1, %c : tensor<5xi32>" in scalars
    assert "stablehlo.minimum" not in after(gathered("5x1", 1), "shardy-2026-08-22")


LEFT = f"""func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = sdy.propagation_barrier %a allowed_direction=FORWARD {{{per_value('{"x"}')}}} : tensor<3xf32>
  return %0 : tensor<3xf32>
}}
"""
SIZE = """func.func @main(%a: tensor<3x2xf32>) -> tensor<i32> {{
  %0 = sdy.all_slice [{{"x"}}, {{}}] %a out_sharding=<@mesh, [{{"x"}}, {{}}]> : tensor<3x2xf32>
  %1 = stablehlo.get_dimension_size %0, dim = {} : (tensor<3x2xf32>) -> tensor<i32>
  return %1 : tensor<i32>
}}
"""


def test_a_barrier_that_is_returned_is_not_padded() -> None:
    assert "tensor<4xf32>" not in after(LEFT)


def test_the_size_of_a_dimension_without_padding_is_asked_for() -> None:
    assert "stablehlo.get_dimension_size" in after(SIZE.format(1))
    assert "stablehlo.get_dimension_size" not in after(SIZE.format(0))
