"""What `sdy-resolve-permutation-factors` replicates and what it leaves, as the C++ of JAX 0.12."""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from tests.differential.modes import run_ours

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'
STEPS = (("sdy-resolve-permutation-factors", ""),)


def sharded(text: str) -> str:
    return f"{{sdy.sharding = #sdy.sharding<@mesh, {text}>}}"


def after(text: str, release: str = "0.12") -> str:
    with releases.of(release):
        return run_ours(text, STEPS)


def grouped(image: int, kernel: int, groups: int) -> str:
    """A product of `image` features with a kernel that makes `kernel` ones; its terms are sharded along y."""
    features = '{"x", "y"}' if groups > 1 else '{"y"}'
    made = f"tensor<2x{kernel}xf32>"
    types = f"(tensor<2x{image}xf32>, tensor<{image // groups}x{kernel}xf32>) -> {made}"
    return f"""{MESH}
func.func @main(%a: tensor<2x{image}xf32> {sharded(f"[{{}}, {features}]")},
                %k: tensor<{image // groups}x{kernel}xf32> {sharded('[{"y"}, {"x"}]')}) -> {made} {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64, sdy.sharding =
      #sdy.sharding_per_value<[<@mesh, [{{}}, {{"x"}}], unreduced={{"y"}}>]>}} : {types}
  %1 = sdy.all_reduce {{"y"}} %0 out_sharding=<@mesh, [{{}}, {{"x"}}]> : {made}
  return %1 : {made}
}}
"""


def test_features_of_groups_are_whole_and_not_reduced() -> None:
    text = after(grouped(4, 8, 2))
    assert "sdy.all_reduce" not in text
    assert "sdy.reshard %arg0 <@mesh, [{}, {}]>" in text
    assert "unreduced" not in text


def test_features_without_groups_are_terms() -> None:
    assert "sdy.all_reduce" in after(grouped(4, 8, 1))
    assert "sdy.reshard" not in after(grouped(4, 8, 1))


def test_groups_stayed_sharded_before() -> None:
    assert "sdy.all_reduce" in after(grouped(4, 8, 2), "0.10")


DEPTHWISE = f"""{MESH}
func.func @main(%a: tensor<2x4xf32> {sharded('[{}, {"x"}]')}, %k: tensor<1x4xf32> {sharded('[{}, {"x"}]')})
    -> tensor<2x4xf32> {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 4 : i64,
      sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{}}, {{"x"}}]>]>}}
    : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}}
"""


def test_groups_of_one_feature_stay_sharded() -> None:
    assert "sdy.reshard" not in after(DEPTHWISE)


@pytest.mark.parametrize(
    ("start", "size", "is_local"),
    [("%i", 1, True), ("%i", 2, False), ("%c0", 2, True), ("%c3", 2, False), ("%c9", 3, True)],
)
def test_an_update_within_a_part_stays_local(start: str, size: int, is_local: bool) -> None:
    text = f"""{MESH}
func.func @main(%a: tensor<8xf32> {sharded('[{"x"}]')}, %u: tensor<{size}xf32>, %i: tensor<i32>)
    -> tensor<8xf32> {{
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %c9 = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, {start}
    {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}}
    : (tensor<8xf32>, tensor<{size}xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}
"""
    assert ("sdy.reshard" not in after(text)) is is_local
