"""Ops that are partitioned one by one, which are invalid on padded tensors."""

from __future__ import annotations

import re

import pytest

from shardy_py.base import releases
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes
from tests.differential.modes import run_ours

CONVOLUTION = """sdy.mesh @mesh = <["z"=2]>
func.func @main(%a: tensor<3x8x6xf32>) -> tensor<3x8x12xf32> {
  %c = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"z"}, {}]>]>}
      dense<1.0> : tensor<12x1x1xf32>
  %0 = stablehlo.convolution(%a, %c) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {}
      {batch_group_count = 1, feature_group_count = 6 : i64}
      : (tensor<3x8x6xf32>, tensor<12x1x1xf32>) -> tensor<3x8x12xf32>
  return %0 : tensor<3x8x12xf32>
}
"""


@pytest.mark.filterwarnings("ignore")
def test_a_grouped_convolution_whose_kernel_would_be_padded() -> None:
    """One input feature a group is sharded in two."""
    module = run_passes(parse_module(CONVOLUTION), [pass_call("sdy-per-instruction-partitioning")])
    assert "stablehlo.all_gather" in print_module(module)


ROW = '{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}'
BORDER = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
CALLS = f"""sdy.mesh @mesh = <["x"=2]>
func.func private @g(%a: tensor<4xf32> {BORDER}) -> (tensor<4xf32> {BORDER}) {{
  %0 = stablehlo.negate %a {ROW} : tensor<4xf32>
  return %0 : tensor<4xf32>
}}
func.func @main(%a: tensor<4xf32> {BORDER}) -> tensor<4xf32> {{
  %0 = call @f(%a) {ROW} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @g(%0) {ROW} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
func.func private @f(%a: tensor<4xf32> {BORDER}) -> (tensor<4xf32> {BORDER}) {{
  %0 = call @h(%a) {ROW} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @g(%0) {ROW} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
func.func private @h(%a: tensor<4xf32> {BORDER}) -> (tensor<4xf32> {BORDER}) {{
  %0 = call @g(%a) {ROW} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""


def partitioned(text: str, release: str = "0.12", selected: str = "") -> str:
    with releases.of(release):
        return run_ours(text, (("sdy-per-instruction-partitioning", selected and f"filter='{selected}'"),))


def test_calls_have_copies_of_all_callees() -> None:
    """A number that counts on through the callees of one call; those of the next begin again."""
    text = partitioned(CALLS)
    copies = re.findall(r"func.func private @(\w+)\(%arg0: tensor<2xf32>\) -> tensor<2xf32>", text)
    assert copies == ["f_0", "h_1", "g_2", "g_0"]
    assert re.findall(r"func\.call @(\w+)", text) == ["f_0", "g_0"]
    assert re.findall(r" call @(\w+)", text) == ["h", "g", "g", "h_1", "g_2", "g_2"]


@pytest.mark.parametrize("release", ["0.10", "shardy-2026-08-22", "0.11"])
def test_calls_stay_before_jax_0_12(release: str) -> None:
    assert "func.call" not in partitioned(CALLS, release)


PARTIAL = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}'
COLLECTIVES = f"""sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xf32> {PARTIAL}) -> tensor<4x4xf32> {{
  %0 = sdy.all_reduce {{"y"}} %a out_sharding=<@mesh, [{{"x"}}, {{}}]> : tensor<4x4xf32>
  %1 = sdy.all_to_all [{{"x"}}: 0->1] %0 out_sharding=<@mesh, [{{}}, {{"x"}}]> : tensor<4x4xf32>
  %2 = sdy.collective_permute %1 out_sharding=<@mesh, [{{}}, {{"y"}}]> : tensor<4x4xf32>
  %3 = sdy.all_gather [{{}}, {{"y"}}] %2 out_sharding=<@mesh, [{{}}, {{}}]> : tensor<4x4xf32>
  %4 = sdy.all_slice [{{"y"}}, {{}}] %3 out_sharding=<@mesh, [{{"y"}}, {{}}]> : tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}}
"""


@pytest.mark.parametrize("release", ["0.11", "0.12"])
def test_collectives_are_partitioned(release: str) -> None:
    text = partitioned(COLLECTIVES, release)
    assert text.count("sdy.manual_computation") == 5
    assert [text.count(f'"stablehlo.{name}"') for name in ("all_reduce", "all_to_all", "all_gather")] == [
        1
    ] * 3
    assert "sdy.manual_computation" not in partitioned(COLLECTIVES, "shardy-2026-08-22")


SUMMED = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}]>},
    %b: tensor<4x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) -> tensor<4x4x4xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[o, i, 0]->[f, b, 0], window = {pad = [[0, 3]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
       sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {}], unreduced={"x"}>]>}
      : (tensor<4x4x4xf32>, tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {"y"}, {}]> : tensor<4x4x4xf32>
  %2 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}, {}]>]>}
      : tensor<4x4x4xf32>
  return %2 : tensor<4x4x4xf32>
}
"""


@pytest.mark.parametrize(
    ("selected", "made"), [("", 2), ("convolution", 1), ("all_reduce", 0), ("selectLow=1", 1)]
)
def test_an_all_reduce_belongs_to_its_convolution(selected: str, made: int) -> None:
    """It has no number of its own, and no filter names it."""
    text = partitioned(SUMMED, selected=selected)
    assert text.count("sdy.manual_computation") == made
    is_summed = selected in ("", "convolution")
    assert text.count('"stablehlo.all_reduce"') == is_summed
    assert ("sdy.all_reduce" in text) != is_summed


EMPTY = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<0x2xi32>) {
  %0 = sdy.reshard %a <@mesh, [{}, {"x"}]> : tensor<0x2xi32>
  return
}
"""


def test_reshards_of_nothing_are_kept() -> None:
    assert "stablehlo.dynamic_slice %arg1" in partitioned(EMPTY)


MOVED = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.reshard %a <@mesh, [{}, {"x":(1)2}]> : tensor<8x4xf32>
  return
}
"""


def test_collectives_are_optimized() -> None:
    assert "stablehlo.collective_permute" not in partitioned(MOVED)
    assert "stablehlo.collective_permute" in partitioned(MOVED, "shardy-2026-08-22")


SPLIT = """sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<20x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.reshape %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {}]>]>}
      : (tensor<20x8xf32>) -> tensor<4x5x8xf32>
  return
}
"""


@pytest.mark.filterwarnings("ignore")
def test_a_reshape_is_resharded_while_it_is_resolved() -> None:
    """Reshards before it would split five, for which the parts of neighbors are exchanged."""
    text = partitioned(SPLIT)
    assert "stablehlo.all_gather" in text
    assert "stablehlo.collective_permute" not in text


LOOP = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %b: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) {
  %0:2 = stablehlo.while(%i = %a, %j = %n) : tensor<3xf32>, tensor<i32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>]>}
  cond {
    %1 = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<3xf32>
    stablehlo.return %1, %j : tensor<3xf32>, tensor<i32>
  }
  return
}
"""


def test_values_that_regions_use_are_cut_first() -> None:
    sliced = re.findall(r"stablehlo\.slice (%arg\d) \[0:1\]", partitioned(LOOP))
    assert sliced == ["%arg6", "%arg3"]


CUT_WHOLE = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.slice %a [0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def test_a_slice_of_the_program_stays_where_nothing_is_padded() -> None:
    assert "sdy.manual_computation(%0)" in partitioned(CUT_WHOLE, selected="negate")


UNEVEN = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<6xf32>) -> tensor<6xf32> {
  %0 = sdy.reshard %a <@mesh, [{"x"}]> : tensor<6xf32>
  %1 = sdy.reshard %0 <@mesh, [{}]> : tensor<6xf32>
  return %1 : tensor<6xf32>
}
"""


@pytest.mark.parametrize(("release", "padded"), [("shardy-2026-08-22", 2), ("0.11", 1), ("0.12", 1)])
def test_padding_is_handed_on(release: str, padded: int) -> None:
    assert partitioned(UNEVEN, release).count("stablehlo.pad") == padded


TURNED = """sdy.mesh @mesh = <["c"=2, "d"=4]>
func.func @main(%a: tensor<16x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"c", "d"}, {}]>}) {
  %0 = sdy.reshard %a <@mesh, [{"c"}, {}, {"d":(1)2}]> : tensor<16x16x8xf32>
  return
}
"""


@pytest.mark.parametrize(("release", "exchanges"), [("0.11", 3), ("0.12", 2)])
def test_collectives_of_a_reshard_are_merged(release: str, exchanges: int) -> None:
    assert partitioned(TURNED, release).count('"stablehlo.all_to_all"') == exchanges


SUM = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%a init: %0) applies stablehlo.add across dimensions = [0]
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x"}>]>}
    : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return
}
"""


@pytest.mark.parametrize("release", ["shardy-2026-08-22", "0.11", "0.12"])
def test_parts_start_from_neutral_values(release: str) -> None:
    assert "partition_id" not in partitioned(SUM, release)
    assert "partition_id" in partitioned(SUM.replace("dense<0.0>", "dense<1.0>"), release)


SIZED = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%z: tensor<f32>,
    %a: tensor<8x9xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
  {} {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}, {{}}]>]>}} : {}
  return
}}
"""
ODD = (
    ("%0 = stablehlo.slice %a [0:5:2, 0:9]", "(tensor<8x9xf32>) -> tensor<3x9xf32>"),
    (
        "%0 = stablehlo.pad %a, %z, low = [0, 1], high = [1, 0], interior = [0, 0]",
        "(tensor<8x9xf32>, tensor<f32>) -> tensor<9x10xf32>",
    ),
)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("release", "masks"), [("0.11", 1), ("shardy-2026-08-22", 0)])
def test_uneven_slices_and_pads_keep_their_sizes(odd: tuple[str, str], release: str, masks: int) -> None:
    """JAX 0.11 pads their results within the computation, where what is not true is replaced by zeros."""
    assert partitioned(SIZED.format(*odd), release).count("stablehlo.select") == masks


GROUPS = """sdy.mesh @mesh = <["c"=2]>
func.func @main(%a: tensor<2x2xf32>, %k: tensor<4x2xf32>) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f]x[o, i]->[f, b], window = {}
    {batch_group_count = 2 : i64, feature_group_count = 1 : i64,
     sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c"}, {}]>]>}
    : (tensor<2x2xf32>, tensor<4x2xf32>) -> tensor<4x1xf32>
  return
}
"""


def test_groups_of_a_convolution_are_not_split_and_gathered() -> None:
    assert "stablehlo.all_gather" not in partitioned(GROUPS)
