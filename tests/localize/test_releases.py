"""The partitioner's passes as each release of the reference has them; more by `tests/differential/`."""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from tests.differential.modes import run_ours

SLICED = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = sdy.all_slice [{"x"}] %a out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
GATHERED = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = sdy.all_gather [{"x":(2)2}] %a out_sharding=<@mesh, [{"x":(1)2}]> : tensor<8xf32>
  %1 = sdy.all_gather [{"x":(1)2}] %0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""
PADDED = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<6xf32> {
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %b, low = [2], high = [0], interior = [0]
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
"""
LOCAL, DROP, RESOLVE = (
    ("sdy-convert-global-to-local", ""),
    ("sdy-drop-sharding-and-mesh", ""),
    ("sdy-resolve-permutation-factors", ""),
)


def after(release: str, text: str, *steps: tuple[str, str]) -> str:
    with releases.of(release):
        return run_ours(text, steps)


def test_tables_are_narrow() -> None:
    wide, narrow = (after(release, SLICED, LOCAL) for release in ("0.10", "0.12"))
    assert "dynamic_slice %c, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>)" in wide
    assert "dynamic_slice %c, %0, sizes = [1] : (tensor<4xi32>, tensor<ui32>)" in narrow


def test_groups_are_axes_of_a_mesh_that_stays() -> None:
    listed, named = (after(release, GATHERED, LOCAL, DROP) for release in ("0.10", "0.12"))
    assert "replica_groups = dense<[[0, 1], [2, 3]]>" in listed
    assert "sdy.mesh" not in listed
    assert '<name = "x", sub_axis_info = (2)2>]>' in named
    assert named.count("sdy.mesh @mesh") == 1


def test_the_module_has_the_shardings_of_main() -> None:
    text = after("0.12", GATHERED, LOCAL)
    mesh = '<mesh<["x"=4]>, '
    assert f'sdy.parameters_shardings = #sdy.sharding_per_value<[{mesh}[{{"x"}}]>]>' in text
    assert f"sdy.output_shardings = #sdy.sharding_per_value<[{mesh}[{{}}]>]>" in text
    assert "_shardings =" not in after("0.10", GATHERED, LOCAL)


def test_what_is_not_received_is_padding() -> None:
    assert "stablehlo.select" in after("0.12", PADDED, RESOLVE)


REVERSED = """sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<7xf32> {
  %0 = stablehlo.reverse %a, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : tensor<7xf32>
  return %0 : tensor<7xf32>
}
"""


def test_reversed_devices_come_before_or_after_the_parts_are_reversed() -> None:
    before, after_it = (after(release, REVERSED, RESOLVE) for release in ("0.10", "shardy-2026-08-22"))
    lines = [line.strip() for line in before.splitlines()]
    assert lines[7].startswith("%5 = stablehlo.slice %arg1 [1:2]")
    assert "source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]>" in lines[8]
    assert "channel_handle" not in lines[8]
    assert lines[12].startswith("} : (tensor<8xf32>)")
    assert lines[13].startswith('%2 = sdy.reshard %1 <@mesh_reversed, [{"x"}]>')
    assert '%3 = sdy.reshard %2 <@mesh, [{"x"}]>' in after_it


@pytest.mark.parametrize(("size", "parts"), [(5, '"x"'), (9, '"x", "y"')])
def test_reversals_that_shift_by_more_than_a_part_are_replicated(size: int, parts: str) -> None:
    text = REVERSED.replace("7xf32", f"{size}xf32").replace('{"x"}', f"{{{parts}}}")
    assert "manual_computation" not in after("0.10", text, RESOLVE)
    assert "manual_computation" in after("shardy-2026-08-22", text, RESOLVE)


def test_parts_of_pads_are_exchanged_since_a_tree() -> None:
    assert "sdy.reshard %arg0 <@mesh, [{}]>" in after("0.10", PADDED, RESOLVE)
    assert "sdy.reshard" not in after("shardy-2026-08-22", PADDED, RESOLVE)


SUB_AXES = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2, "x":(1)2}]>}) {
  %0 = sdy.all_slice [{"x":(2)2}] %a out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  %1 = sdy.collective_permute %0 out_sharding=<@mesh, [{"x":(2)2, "x":(1)2}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""


def test_positions_along_sub_axes() -> None:
    before, now = (after(release, SUB_AXES, LOCAL) for release in ("0.10", "shardy-2026-08-22"))
    assert "dense<[0, 0, 2, 2]> : tensor<4xi64>" in before
    assert "dense<[0, 2, 0, 2]> : tensor<4xi64>" in now
    for text in (before, now):
        assert "source_target_pairs = dense<[[0, 0], [1, 2], [2, 1], [3, 3]]>" in text
    assert after("0.10", SUB_AXES, (LOCAL[0], "device-id-arithmetic=true")) == after(
        "shardy-2026-08-22", SUB_AXES, (LOCAL[0], "device-id-arithmetic=true")
    )


ON_ONE = """sdy.mesh @mesh = <["x"=2]>
sdy.mesh @one = <[], device_ids=[1]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.reshard %a <@one, []> : tensor<8xf32>
  %1 = stablehlo.custom_call @f(%0) {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>}
    : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.reshard %1 <@mesh, [{}]> : tensor<8xf32>
  return %2 : tensor<8xf32>
}
"""


def test_devices_are_compared_by_their_ids() -> None:
    wide, narrow = (
        after(release, ON_ONE, ("sdy-resolve-single-device-sharding", ""))
        for release in ("shardy-2026-08-22", "0.12")
    )
    assert "%1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>" in wide
    assert "compare EQ, %0, %c : (tensor<ui32>, tensor<ui32>)" in narrow
    assert wide == after("0.12", ON_ONE, ("sdy-resolve-single-device-sharding", "wide-device-ids=true"))


def test_passes_that_a_release_lacks_are_those_of_the_tree() -> None:
    made = [
        after(release, PADDED, ("sdy-per-instruction-partitioning", ""))
        for release in ("0.10", "shardy-2026-08-22")
    ]
    assert made[0] == made[1]
    assert "stablehlo.collective_permute" in made[0]


def test_stages_have_the_right_positions_in_each_release() -> None:
    step = ("sdy-export-pipeline", "partitioner-stage=convert-global-to-local")
    assert "[[0, 0], [1, 2], [2, 1], [3, 3]]" in after("0.10", SUB_AXES, step)
    assert "dense<[0, 0, 2, 2]>" not in after("0.10", SUB_AXES, step)


GROUPED = """sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<2x4x1xf32>, %b: tensor<3x1x2xf32>) -> tensor<1x2x2xf32> {
  %0 = sdy.all_slice [{"x"}, {}, {}] %a out_sharding=<@mesh, [{"x"}, {}, {}]> : tensor<2x4x1xf32>
  %1 = stablehlo.convolution(%0, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
    {batch_group_count = 2 : i64, feature_group_count = 1 : i64,
     sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>}
    : (tensor<2x4x1xf32>, tensor<3x1x2xf32>) -> tensor<1x2x2xf32>
  return %1 : tensor<1x2x2xf32>
}
"""


def test_groups_that_do_not_divide_a_padded_batch() -> None:
    what = r"expects input batch dimension \(3\) to be divisible by batch_group_count\. Got"
    with pytest.raises(ShardyError, match=what):
        after("0.10", GROUPED, ("sdy-pad-for-divisibility", ""))


@pytest.mark.parametrize("unsafe", ["true", "false"])
@pytest.mark.parametrize("algorithm", ["THREE_FRY", "DEFAULT"])
def test_random_bits_are_left_or_replicated(algorithm: str, unsafe: str) -> None:
    text = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<2xui64>) -> tensor<2xui64> {
  %0:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}>
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>}
    : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  return %0#0 : tensor<2xui64>
}
""".replace("THREE_FRY", algorithm)
    made = after("0.12", text, (RESOLVE[0], f"rng-bit-generator-unsafe={unsafe}"))
    assert ('sdy.reshard %output <@mesh, [{"x"}]>' in made) is (unsafe == "false")


UNEVEN = """sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
  %1 = stablehlo.abs %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""
SINGLE = ("sdy-per-instruction-partitioning", "")


def test_single_ops_are_padded_outside_or_inside() -> None:
    """A padded result is handed on; what the padding of one becomes is masked within."""
    outside, inside = (after(release, UNEVEN, SINGLE) for release in ("shardy-2026-08-22", "0.12"))
    assert outside.count("stablehlo.pad ") == 2
    assert "high = [1]" not in inside.partition("sdy.manual_computation")[2]
    assert inside.count("stablehlo.slice %arg1 [0:3] : (tensor<3xf32>) -> tensor<3xf32>") == 2
    assert inside.count("stablehlo.select ") == 2


@pytest.mark.parametrize(("initial", "total"), [("0.0", 0), ("1.0", 1)])
def test_sums_of_single_ops_start_from_the_initial_value_if_it_is_neutral(initial: str, total: int) -> None:
    text = f"""sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> tensor<f32> {{
  %b = stablehlo.constant dense<{initial}> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0]
    : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}}
"""
    made = after("0.12", text, SINGLE)
    assert made.count("(%arg1 init: %arg2)") == 1 - total
    assert made.count("stablehlo.add %") == 1 + total  # one combines devices


def test_an_uneven_sum_of_single_ops_stays_unreduced() -> None:
    """Zeros that pad terms are terms."""
    text = """sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> tensor<8xf32> {
  %b = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.dot %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}], unreduced={"x"}>]>}
    : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
    assert "all_reduce" not in after("0.12", text, SINGLE)


@pytest.mark.parametrize("release", ["0.10", "shardy-2026-08-22", "0.12"])
def test_a_reversal_by_itself_reverses_the_devices(release: str) -> None:
    text = """sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<9xf32> {
  %0 = stablehlo.reverse %a, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : tensor<9xf32>
  return %0 : tensor<9xf32>
}
"""
    assert "source_target_pairs = dense<[[0, 2], [1, 1], [2, 0]]>" in after(release, text, SINGLE)


TAKEN = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %i: tensor<4x1xi32>)
    -> tensor<4xf32> {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> {sdy.sharding =
      #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>}
    : (tensor<8xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


@pytest.mark.parametrize(("release", "has_sharding"), [("0.10", False), ("0.11", True), ("0.12", True)])
def test_offsets_of_indices_have_shardings(release: str, has_sharding: bool) -> None:
    text = after(release, TAKEN, LOCAL)
    offsets = next(line for line in text.splitlines() if "tensor<4x1xi32>" in line and "broadcast" in line)
    assert ("sdy.sharding" in offsets) == has_sharding


UPDATED = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %u: tensor<2xf32>)
    -> tensor<4xf32> {
  %i = sdy.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize(("release", "reshards"), [("0.10", 0), ("0.11", 2), ("0.12", 0)])
def test_updates_within_a_part_are_moved_or_stay(release: str, reshards: int) -> None:
    assert after(release, UPDATED, RESOLVE).count("sdy.reshard") == reshards


STRIDED = """sdy.mesh @mesh = <["a"=4]>
func.func @main(%a: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) {
  %0 = stablehlo.slice %a [0:6:2, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"a"}]>]>}
    : (tensor<8x2xf32>) -> tensor<3x2xf32>
  return
}
"""


@pytest.mark.parametrize("release", ["0.11", "0.12"])
def test_exchanged_slices_keep_strides(release: str) -> None:
    with releases.of(release):
        assert "[0:6:2, 0:1]" in run_ours(STRIDED, (("sdy-resolve-permutation-factors", ""),))
