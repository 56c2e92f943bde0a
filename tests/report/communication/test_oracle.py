"""Communication reports against missing elements, counted one by one; runs counted by hand."""

from __future__ import annotations

from math import ceil
from random import Random

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shardy_py.api import Options, Program, Result, Sharding, pipeline, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.hardware.cost import CostModel, Link
from shardy_py.report.communication import CollectiveUse, CommunicationReport, communication_report
from shardy_py.report.communication.of_program import forecast
from shardy_py.sharding import DeviceSlices, Mesh, TensorSharding
from tests.conftest import examples
from tests.sharding.random_shardings import random_sharding

MODEL = CostModel("test", Link(1e9, 1e-6))
MESHES = """
sdy.mesh @mesh = <["x"=4, "y"=2, "z"=4]>
sdy.mesh @turned = <["x"=4, "y"=2, "z"=4], device_ids=[{ids}]>
""".format(ids=", ".join(map(str, reversed(range(32)))))


def resharded(source: str, target: str, type_: str = "16x16xf32") -> Result:
    options = Options(update_non_divisible_input_output_shardings=False)
    return propagate(
        Program.parse(
            f"{MESHES}func.func @main(%arg0: tensor<{type_}> {{sdy.sharding = #sdy.sharding{source}}})"
            f" -> (tensor<{type_}> {{sdy.sharding = #sdy.sharding{target}}}) {{\n"
            f"  %0 = sdy.reshard %arg0 {target} : tensor<{type_}>\n"
            f"  return %0 : tensor<{type_}>\n}}"
        ),
        options,
    )


def lacked_elements(source: Sharding, target: Sharding, shape: tuple[int, ...]) -> int:
    """The elements received by the device that misses most of its target shard."""
    before, after = (_held(sharding.device_slices(shape), shape) for sharding in (source, target))
    return max(int((new & ~old).sum()) for old, new in zip(before, after, strict=True))


def _held(slices: DeviceSlices, shape: tuple[int, ...]) -> list[NDArray[np.bool_]]:
    """By device, which elements it holds."""
    found: list[NDArray[np.bool_]] = []
    for offset in slices.offsets.tolist():
        held = np.zeros(shape, bool)
        held[tuple(slice(o, o + n) for o, n in zip(offset, slices.local_shape, strict=True))] = True
        found.append(held)
    return found


ONE_COLLECTIVE = [
    ("all_gather", '<@mesh, [{"x"}, {}]>', "<@mesh, [{}, {}]>", ("x",)),
    ("all_gather", '<@mesh, [{"x", "y"}, {}]>', '<@mesh, [{"x"}, {}]>', ("y",)),
    ("all_gather", '<@mesh, [{"x"}, {"y"}]>', "<@mesh, [{}, {}]>", ("x", "y")),
    ("all_gather", '<@mesh, [{"x"}, {}]>', '<@mesh, [{"x":(1)2}, {}]>', ("x",)),
    ("all_slice", "<@mesh, [{}, {}]>", '<@mesh, [{"x"}, {"y"}]>', ("x", "y")),
    ("all_to_all", '<@mesh, [{"x"}, {}]>', '<@mesh, [{}, {"x"}]>', ("x",)),
    ("all_to_all", '<@mesh, [{"y", "x"}, {}]>', '<@mesh, [{"y"}, {"x"}]>', ("x",)),
    ("all_to_all", '<@mesh, [{"x"}, {}]>', '<@mesh, [{"x":(1)2}, {"x":(2)2}]>', ("x",)),
    ("all_to_all", '<@mesh, [{"x", "y"}, {}]>', '<@mesh, [{}, {"x", "y"}]>', ("x", "y")),
    ("all_gather", '<@mesh, [{"x":(1)2}, {"x":(2)2}]>', "<@mesh, [{}, {}]>", ("x",)),
    ("collective_permute", '<@mesh, [{"x"}, {}]>', '<@mesh, [{"z"}, {}]>', ("x", "z")),
    ("collective_permute", '<@mesh, [{"x", "y"}, {}]>', '<@mesh, [{"y", "x"}, {}]>', ("x", "y")),
    ("collective_permute", '<@mesh, [{"x"}, {"z"}]>', '<@mesh, [{"z"}, {"x"}]>', ("x", "z")),
]


@pytest.mark.parametrize(
    ("type_", "element_bits"),
    [("16x16xf32", 32), ("16x16xbf16", 16), ("16x16xi4", 4), ("16x16xi1", 8), ("8x48xf64", 64)],
)
@pytest.mark.parametrize(("kind", "source", "target", "axes"), ONE_COLLECTIVE)
def test_bytes_are_those_missing_on_a_device(
    kind: str, source: str, target: str, axes: tuple[str, ...], type_: str, element_bits: int
) -> None:
    result = resharded(source, target, type_)
    (use,) = result.communication(MODEL).collectives
    assert use.kind == kind
    assert tuple(sorted(name for name, _ in use.axes)) == axes
    mesh = result.program.meshes["mesh"]
    shape = result["%arg0"].shape
    assert shape is not None
    lacked = lacked_elements(
        Sharding.parse(source, mesh), Sharding.parse(target, mesh), tuple(size or 0 for size in shape)
    )
    assert use.cost.bytes == (0 if kind == "all_slice" else ceil(lacked * element_bits / 8))


@given(st.integers(0, 1 << 40))
@settings(deadline=None, max_examples=examples(80))
def test_every_collective_of_a_random_reshard(seed: int) -> None:
    random = Random(seed)
    mesh = random.choice((Mesh.of(x=4, y=2, z=4), Mesh.of(x=8, y=2)))
    source, target = (TensorSharding("mesh", random_sharding(random, mesh, 3).dimensions) for _ in range(2))
    type_, attribute = "tensor<32x32x32xi8>", "sdy.sharding = #sdy.sharding"
    try:
        module = pipeline.read(
            f"sdy.mesh @mesh = {mesh}\n"
            f"func.func @main(%arg0: {type_} {{{attribute}{source}}})"
            f" -> ({type_} {{{attribute}{target}}}) {{\n"
            f"  %0 = sdy.reshard %arg0 {target} : {type_}\n  return %0 : {type_}\n}}"
        )
    except ShardyError:
        reject()  # parts of axes that could be written as one
    pipeline.collectives(module)
    for use in communication_report(module, MODEL).collectives:
        assert use.source is not None
        assert use.target is not None
        held, made = (Sharding(mesh, sharding) for sharding in (use.source, use.target))
        lacked = 0 if use.kind == "all_slice" else lacked_elements(held, made, (32, 32, 32))
        assert use.cost.bytes == lacked


def test_an_axis_is_not_listed_beside_its_parts() -> None:
    whole, parts = '<@mesh, [{"x"}, {}]>', '<@mesh, [{"x":(2)2, "x":(1)2}, {}]>'
    (use,) = resharded(whole, parts).communication(MODEL).sending
    assert use.axes == (("x", 4),)


def test_parts_that_overlap_are_no_more_than_the_axis() -> None:
    source, target = '<@mesh, [{"x":(1)4}, {}]>', '<@mesh, [{"x":(2)4}, {}]>'
    text = f"""
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%arg0: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding{source}}})
        -> (tensor<8x8xf32> {{sdy.sharding = #sdy.sharding{target}}}) {{
      %0 = sdy.reshard %arg0 {target} : tensor<8x8xf32>
      return %0 : tensor<8x8xf32>
    }}
    """
    module = pipeline.read(text)
    pipeline.collectives(module)
    uses = communication_report(module, MODEL).sending
    assert uses
    assert all(size <= 8 for use in uses for _, size in use.axes)


ONE_TO_ANOTHER = """
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @first = <[], device_ids=[0]>
sdy.mesh @second = <[], device_ids=[SECOND]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@first, []>}) -> tensor<8xf32> {
  %0 = sdy.reshard %arg0 <@second, []> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.mark.parametrize(("second", "taken"), [(0, 0), (3, 32)])
def test_from_one_device_to_another(second: int, taken: int) -> None:
    module = pipeline.read(ONE_TO_ANOTHER.replace("SECOND", str(second)))
    (use,) = communication_report(module, MODEL).collectives
    assert (use.kind, use.cost.bytes) == ("reshard", taken)


def test_padded_parts_are_counted_whole() -> None:
    (use,) = resharded('<@mesh, [{"x"}, {}]>', "<@mesh, [{}, {}]>", "7x3xf32").communication(MODEL).sending
    assert (use.held_bytes, use.cost.bytes) == (2 * 3 * 4, 3 * 2 * 3 * 4)


def test_devices_in_another_order_all_take_part() -> None:
    (use,) = resharded('<@mesh, [{"x"}, {}]>', '<@turned, [{"x"}, {}]>').communication(MODEL).sending
    assert use.kind == "collective_permute"
    assert [name for name, _ in use.axes] == ["x", "y", "z"]
    assert use.cost.bytes == use.held_bytes == 16 * 16 * 4 // 4


ON_ONE_DEVICE = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @device = <[], device_ids=[3]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, SOURCE>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, TARGET>}) {
  %0 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@device, []>]>}
      : (tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":4:2)
  return %0 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(
    ("source", "target", "taken", "given", "seconds"),
    [
        ('[{"x"}, {"y"}]', '[{"x"}, {"y"}]', 7 * 32, 32, (224e-9 + 4e-6, 224e-9 + 4e-6)),
        ('[{}, {"x"}]', "[{}, {}]", 3 * 64, 256, (192e-9 + 3e-6, 2 * 256e-9 + 4e-6)),
        ("[{}, {}]", '[{"y"}, {}]', 0, 128, (0, 128e-9 + 1e-6 + 128e-9 + 3e-6)),
    ],
)
def test_to_and_from_a_single_device(
    source: str, target: str, taken: int, given: int, seconds: tuple[float, float]
) -> None:
    """It receives the missing ones of the 256 bytes; all others receive their shards."""
    text = ON_ONE_DEVICE.replace("SOURCE", source).replace("TARGET", target)
    result = propagate(Program.parse(text))
    assert result.record is not None
    to, back = forecast(result.program.module, MODEL, result.record.events)[1].collectives
    assert (to.kind, back.kind, to.cost.bytes) == ("reshard", "reshard", taken)
    assert back.cost.bytes == given
    assert (to.cost.seconds, back.cost.seconds) == (pytest.approx(seconds[0]), pytest.approx(seconds[1]))
    assert to.cause.reason == "operand 0 of stablehlo.custom_call requires another sharding"
    assert (to.cause.location, to.cause.is_explicit) == ("model.py:4:2", False)


PRODUCT = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %arg1: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> loc("jit(f)/dot"("model.py":7:3))
  return %0 : tensor<8x4xf32>
}
"""


def _one(bill: CommunicationReport) -> CollectiveUse:
    (use,) = bill.sending
    return use


def test_a_reduce_scatter_has_the_cause_of_its_reduction() -> None:
    use = _one(propagate(Program.parse(PRODUCT)).communication(MODEL, partitioner="shardy"))
    assert (use.kind, use.cost.bytes) == ("reduce_scatter", 8 * 4 * 4 * 3 // 4)
    assert use.cause.reason == "stablehlo.dot_general reduces a sharded dimension"
    assert use.cause.location == "model.py:7:3 jit(f)/dot"
    assert not use.cause.is_explicit


CONSTRAINT = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x8xf32> {
  %0 = OP %arg0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        ("sdy.sharding_constraint", "the program constrains the sharding here"),
        ("sdy.reshard", "the program reshards here"),
    ],
)
def test_what_the_program_asks_for(op: str, reason: str) -> None:
    cause = _one(propagate(Program.parse(CONSTRAINT.replace("OP", op))).communication(MODEL)).cause
    assert (cause.op, cause.reason, cause.is_explicit) == (op, reason, True)


VARIADIC = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %0:2 = sdy.manual_computation(%arg0, %arg1)
      in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}]>]
      out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}]>]
      manual_axes={"x"} (%a: tensor<2x8xf32>, %b: tensor<2xf32>) {
    %1:2 = "stablehlo.all_reduce"(%a, %b) <{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = GROUPS, use_global_device_ids}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %c, %d : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2x8xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<2xf32>)
    %2 = "stablehlo.collective_broadcast"(%1#1) <{
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1#0, %2 : tensor<2x8xf32>, tensor<2xf32>
  } : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8xf32>
}
"""


@pytest.mark.parametrize(
    "groups",
    [
        "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>",
        '#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>',
    ],
)
def test_all_operands_count_and_axes_can_be_named(groups: str) -> None:
    result = propagate(Program.parse(VARIADIC.replace("GROUPS", groups)))
    reduce, broadcast = result.communication(MODEL).collectives
    assert (reduce.axes, reduce.held_bytes) == ((("x", 4),), (16 + 2) * 4)
    assert reduce.cost.bytes == 2 * 3 * (16 + 2) * 4 // 4
    assert (broadcast.kind, broadcast.cost.bytes) == ("collective_broadcast", 8)
    assert broadcast.cost.seconds == pytest.approx(8e-9 + 3e-6)


NESTED = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %x = %arg0) : tensor<i32>, tensor<8xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %r = sdy.reshard %x <@mesh, [{}]> : tensor<8xf32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %one, %i : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%k = %z, %y = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %n = stablehlo.constant dense<LIMIT> : tensor<i32>
      %p = stablehlo.compare LT, COUNTER, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %l = stablehlo.add %k, %one : tensor<i32>
      %s = sdy.reshard %y <@mesh, [{}]> : tensor<8xf32>
      %t = func.call @f(%s) : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %l, %t : tensor<i32>, tensor<8xf32>
    }
    stablehlo.return %j, %1#1 : tensor<i32>, tensor<8xf32>
  }
  %2 = func.call @f(%0#1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{"x"}]> : tensor<8xf32>
  %1 = sdy.reshard %0 <@mesh, [{}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""


def _times(text: str) -> dict[str, tuple[int, bool]]:
    """By function and value, how often each reshard runs."""
    return {
        f"{use.function}:{use.value}": (use.times, use.is_estimate)
        for use in communication_report(pipeline.read(text), MODEL).collectives
    }


def test_loops_in_loops_conditions_and_calls() -> None:
    times = _times(NESTED.replace("LIMIT", "5").replace("COUNTER", "%k"))
    assert sorted(times.values()) == [(4, False), (15, False), (16, False), (16, False)]
    assert times["f:%0"] == (16, False)


def test_a_condition_on_an_outer_loop_is_unknown() -> None:
    times = _times(NESTED.replace("LIMIT", "5").replace("COUNTER", "%i"))
    assert times["f:%0"] == (4, True)


def test_long_chains_of_calls() -> None:
    count = 1500
    functions = "\n".join(
        f"func.func private @f{i}(%a: tensor<8xf32>) -> tensor<8xf32> {{\n"
        f"  %0 = func.call @f{i + 1}(%a) : (tensor<8xf32>) -> tensor<8xf32>\n"
        "  return %0 : tensor<8xf32>\n}"
        for i in range(count)
    )
    last = (
        'sdy.mesh @mesh = <["x"=2]>\n'
        f"func.func private @f{count}(%a: tensor<8xf32>) -> tensor<8xf32> {{\n"
        '  %0 = sdy.reshard %a <@mesh, [{"x"}]> : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n'
        "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
        "  %0 = func.call @f0(%a) : (tensor<8xf32>) -> tensor<8xf32>\n"
        "  %1 = func.call @f0(%0) : (tensor<8xf32>) -> tensor<8xf32>\n  return %1 : tensor<8xf32>\n}\n"
    )
    assert _times(f"{functions}\n{last}") == {f"f{count}:%0": (2, False)}
