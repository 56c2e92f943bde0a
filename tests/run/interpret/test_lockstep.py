"""Many devices in lockstep: divergence, deadlock, process groups, manual computations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.ops.compute import COMPUTED, Compute, register_custom_call
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.interpret import Executable, RunLimits, Settings

Array = np.ndarray[Any, Any]
ADD = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  })"""
GLOBAL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"


def run(text: str, *inputs: Array, grid: Grid | None = None, limits: RunLimits | None = None) -> list[Array]:
    module = parse_module(text, "test.mlir")
    verify_module(module)
    settings = Settings(grid=grid or Grid(), limits=limits or RunLimits())
    return Executable(module, settings=settings).run(inputs)


def function(body: str, inputs: str = "%x: tensor<2xf32>", results: str = "tensor<2xf32>") -> str:
    return f"func.func @main({inputs}) -> ({results}) {{\n{body}\n}}"


def reduced(groups: str, extra: str = GLOBAL) -> str:
    rows = groups.count("[") - 1
    width = groups.split("]")[0].count(",") + 1
    dense = f"dense<{groups}> : tensor<{rows}x{width}xi64>"
    return (
        f'%r = "stablehlo.all_reduce"(%x) {ADD} {{replica_groups = {dense}{", " * bool(extra)}{extra}}}'
        " : (tensor<2xf32>) -> tensor<2xf32>\n"
    )


def values(count: int) -> Array:
    return np.arange(2 * count, dtype=np.float32).reshape(count, 2)


@pytest.mark.parametrize(
    ("grid", "groups", "extra", "expected"),
    [
        (Grid(4, 1), "[[0, 1], [2, 3]]", "", [[0, 1], [0, 1], [2, 3], [2, 3]]),
        (
            Grid(2, 2),
            "[[0, 1]]",
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>",
            [[0, 2, 1, 3]] * 4,
        ),
        (Grid(2, 2), "[[0, 1]]", "", [[0, 2], [1, 3], [0, 2], [1, 3]]),
        (Grid(2, 2), "[[0, 3], [1, 2]]", GLOBAL, [[0, 3], [1, 2], [1, 2], [0, 3]]),
        (Grid(1, 3), "[[0, 1], [2, -1]]", GLOBAL, [[0, 1], [0, 1], [2]]),
    ],
)
def test_all_reduce_sums_over_the_groups_of_each_mode(
    grid: Grid, groups: str, extra: str, expected: Sequence[Sequence[int]]
) -> None:
    x = values(grid.size)
    (result,) = run(function(reduced(groups, extra) + "return %r : tensor<2xf32>"), x, grid=grid)
    assert result.tolist() == [x[list(group)].sum(0).tolist() for group in expected]


def test_equal_values_are_kept_once() -> None:
    (result,) = run(
        function(reduced("[[0, 1], [2, 3]]") + "return %r : tensor<2xf32>"), values(1), grid=Grid(1, 4)
    )
    assert result.tolist() == [[0, 2]]


BRANCH = """
  %id = stablehlo.partition_id : tensor<ui32>
  %one = stablehlo.constant dense<1> : tensor<ui32>
  %p = stablehlo.compare LE, %id, %one : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %y = "stablehlo.if"(%p) ({
    BODY
    stablehlo.return %r : tensor<2xf32>
  }, {
    %n = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %n : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %y : tensor<2xf32>
"""


def test_devices_that_disagree_take_their_branch() -> None:
    x = values(4)
    (result,) = run(
        function(BRANCH.replace("BODY", "%r = stablehlo.add %x, %x : tensor<2xf32>")), x, grid=Grid(1, 4)
    )
    assert result.tolist() == np.concatenate([2 * x[:2], -x[2:]]).tolist()


def test_a_collective_within_a_branch_needs_its_groups_only() -> None:
    x = values(4)
    (result,) = run(function(BRANCH.replace("BODY", reduced("[[0, 1], [2, 3]]"))), x, grid=Grid(1, 4))
    total = x[:2].sum(0, keepdims=True)
    assert result.tolist() == np.concatenate([total, total, -x[2:]]).tolist()


def test_a_collective_that_some_never_reach_is_a_deadlock() -> None:
    with pytest.raises(ShardyError) as caught:
        run(function(BRANCH.replace("BODY", reduced("[[0, 2], [1, 3]]"))), values(4), grid=Grid(1, 4))
    assert str(caught.value) == (
        "test.mlir:7:10: error: 'stablehlo.all_reduce' op is in deadlock: devices 0, 1 reached it, "
        "and devices 2, 3 of the same groups did not"
    )


def test_devices_leave_a_loop_one_by_one() -> None:
    body = """
  %id = stablehlo.partition_id : tensor<ui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %one = stablehlo.constant dense<1> : tensor<ui32>
  %w:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<ui32>, tensor<2xf32>
    cond {
      %p = stablehlo.compare LT, %i, %id : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<ui32>
      %z = stablehlo.add %y, %x : tensor<2xf32>
      stablehlo.return %n, %z : tensor<ui32>, tensor<2xf32>
    }
  return %w#1, %w#0 : tensor<2xf32>, tensor<ui32>"""
    x = values(4)
    result, count = run(function(body, results="tensor<2xf32>, tensor<ui32>"), x, grid=Grid(1, 4))
    assert count.tolist() == [0, 1, 2, 3]
    assert result.tolist() == (x * np.array([[1], [2], [3], [4]])).tolist()


def test_targets_left_out_of_a_permute_get_zeros() -> None:
    body = """%r = "stablehlo.collective_permute"(%x) {
      source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>"""
    x = values(3) + 1
    (result,) = run(function(body), x, grid=Grid(1, 3))
    assert result.tolist() == [[0, 0], x[0].tolist(), x[1].tolist()]


MANUAL = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = sdy.manual_computation(%x)
      in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
      manual_axes={"x"} (%a: tensor<2x6xf32>) {
    %1 = sdy.manual_computation(%a)
        in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>]
        manual_axes={"y"} (%b: tensor<2x3xf32>) {
      %id = stablehlo.partition_id : tensor<ui32>
      %2 = "stablehlo.collective_permute"(%b) {
        source_target_pairs = dense<[[0, 3], [3, 0], [1, 1], [2, 2]]> : tensor<4x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}
        : (tensor<2x3xf32>) -> tensor<2x3xf32>
      sdy.return %2 : tensor<2x3xf32>
    } : (tensor<2x6xf32>) -> tensor<2x6xf32>
    sdy.return %1 : tensor<2x6xf32>
  } : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}"""


def test_nested_manual_computations_run_on_the_parts_of_each_device() -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 4, 6)
    (result,) = run(MANUAL, x)
    expected = x[0].copy()
    expected[:2, :3], expected[2:, 3:] = x[0, 2:, 3:], x[0, :2, :3]
    assert result.tolist() == [expected.tolist()]


def test_limits_stop_loops_and_large_tensors() -> None:
    forever = """
  %w = stablehlo.while(%i = %x) : tensor<2xf32>
    cond { %t = stablehlo.constant dense<true> : tensor<i1>  stablehlo.return %t : tensor<i1> }
    do { stablehlo.return %i : tensor<2xf32> }
  return %w : tensor<2xf32>"""
    with pytest.raises(ShardyError, match=r"the run exceeds the limit of 1000 executed ops"):
        run(function(forever), values(1), limits=RunLimits(steps=1000))
    large = function("%r = stablehlo.iota dim = 0 : tensor<1000000000000xf32>\n return %x : tensor<2xf32>")
    with pytest.raises(ShardyError, match=r"2:6: error: 'stablehlo.iota' op has 1000000000000 elements"):
        run(large, values(1))


def test_all_ops_that_cannot_run_are_reported_before_anything_runs() -> None:
    body = """%r = stablehlo.custom_call @mine(%x) : (tensor<2xf32>) -> tensor<2xf32>
%s = stablehlo.custom_call @other(%r) : (tensor<2xf32>) -> tensor<2xf32>
return %s : tensor<2xf32>"""
    with pytest.raises(ShardyError) as caught:
        run(function(body), values(1))
    remedy = "cannot run; shardy_py.run.interpret.register_custom_call gives it a function"
    assert [str(d) for d in caught.value.diagnostics] == [
        f"test.mlir:2:6: error: 'stablehlo.custom_call' op @mine {remedy}",
        f"test.mlir:3:6: error: 'stablehlo.custom_call' op @other {remedy}",
    ]


def test_a_function_that_calls_itself_is_stopped() -> None:
    body = "%r = func.call @main(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %r : tensor<2xf32>"
    with pytest.raises(ShardyError, match="calls nest too deep to run"):
        run(function(body), values(1))


def test_a_chain_of_a_thousand_calls_runs() -> None:
    calls = "".join(
        f"func.func private @f{i}(%x: tensor<2xf32>) -> tensor<2xf32> {{\n"
        f"%r = call @f{i + 1}(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %r : tensor<2xf32>\n}}\n"
        for i in range(1000)
    )
    last = "func.func private @f1000(%x: tensor<2xf32>) -> tensor<2xf32> {\nreturn %x : tensor<2xf32>\n}\n"
    main = function("%r = call @f0(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %r : tensor<2xf32>")
    assert run(calls + last + main, values(1))[0].tolist() == [[0, 1]]


FILLED = """
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %c = stablehlo.constant dense<0.0> : tensor<10xf32>
  %start = stablehlo.add %c, %c : tensor<10xf32>
  %w:2 = stablehlo.while(%i = %zero, %y = START) : tensor<i32>, tensor<10xf32>
    cond {
      %p = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %f = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
      %u = stablehlo.reshape %f : (tensor<f32>) -> tensor<1xf32>
      %z = stablehlo.dynamic_update_slice %y, %u, %i
        : (tensor<10xf32>, tensor<1xf32>, tensor<i32>) -> tensor<10xf32>
      stablehlo.return %n, %z : tensor<i32>, tensor<10xf32>
    }
  return %w#1, %x : tensor<10xf32>, tensor<10xf32>"""


@pytest.mark.parametrize(("start", "copies"), [("%start", 1), ("%x", 1)])
def test_a_loop_fills_an_array_in_place(start: str, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first update copies, because the array belongs to the program or the caller; the others write."""
    copied: list[int] = []
    name = "stablehlo.dynamic_update_slice"
    row = COMPUTED.of(name)
    update = cast("Compute", row.function)
    noting = replace(row, function=lambda *given: (copied.append(1), update(*given))[1])
    monkeypatch.setitem(COMPUTED.rows, name, noting)
    results = "tensor<10xf32>, tensor<10xf32>"
    text = function(FILLED.replace("START", start), "%x: tensor<10xf32>", results)
    filled, kept = run(text, np.zeros((1, 10), np.float32))
    assert filled.tolist() == [[*range(1, 11)]]
    assert kept.tolist() == [[0] * 10]
    assert len(copied) == copies


def test_no_groups_are_one_group_of_all() -> None:
    groups = "replica_groups = dense<> : tensor<0x0xi64>"
    body = reduced("[[0]]", "").replace("replica_groups = dense<[[0]]> : tensor<1x1xi64>", groups)
    (result,) = run(function(body + "return %r : tensor<2xf32>"), values(4), grid=Grid(4, 1))
    assert result.tolist() == [values(4).sum(0).tolist()] * 4


def test_a_use_before_the_definition_is_a_diagnostic() -> None:
    body = "%a = stablehlo.add %x, %b : tensor<2xf32>\n%b = stablehlo.negate %x : tensor<2xf32>\n"
    with pytest.raises(ShardyError, match=r"test.mlir:2:\d+: error: operand #1 does not dominate this use"):
        run(function(body + "return %a : tensor<2xf32>"), values(1))


def test_custom_calls_of_unary_functions_take_one_operand() -> None:
    call = "%a = stablehlo.custom_call @mhlo.asin(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
    with pytest.raises(ShardyError, match=r"@mhlo.asin does not take 2 operands"):
        run(function(f"{call}\nreturn %a : tensor<2xf32>"), values(1))


def test_registered_custom_calls_pass_tokens_on() -> None:
    register_custom_call("twice", lambda call, x: 2 * x)
    body = """%t = stablehlo.after_all : !stablehlo.token
%r:2 = stablehlo.custom_call @twice(%x, %t) : (tensor<2xf32>, !stablehlo.token)
  -> (tensor<2xf32>, !stablehlo.token)
%u = stablehlo.after_all %r#1 : !stablehlo.token
return %r#0 : tensor<2xf32>"""
    assert run(function(body), values(2), grid=Grid(1, 2))[0].tolist() == [[0, 2], [4, 6]]


def test_unreduced_borders_of_manual_computations() -> None:
    """What leaves is the sum over the devices; of what enters, the first of them has all."""
    text = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0:2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>]
      out_shardings=[<@mesh, [{}], unreduced={"x"}>, <@mesh, [{}], unreduced=max{"x"}>]
      manual_axes={"x", "y"} (%b: tensor<2xf32>) {
    sdy.return %b, %b : tensor<2xf32>, tensor<2xf32>
  } : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %1 = sdy.manual_computation(%0#0) in_shardings=[<@mesh, [{}], unreduced={"x", "y"}>]
      out_shardings=[<@mesh, [{}], unreduced={"x"}>] manual_axes={"x", "y"} (%b: tensor<2xf32>) {
    sdy.return %b : tensor<2xf32>
  } : (tensor<2xf32>) -> tensor<2xf32>
  return %1, %0#1 : tensor<2xf32>, tensor<2xf32>
}
"""
    results = Executable(parse_module(text)).run([np.array([[1, 2, 30, 40]], np.float32)])
    assert [array[0].tolist() for array in results] == [[31, 42], [30, 40]]


REDUCED = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<{size}xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}]>] out_shardings=[<@mesh, [{out}]>]
      manual_axes={{{manual}}} (%b: tensor<2xf32>) {{
    %1 = func.call @sum(%b) : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  }} : (tensor<4xf32>) -> tensor<{size}xf32>
  return %0 : tensor<{size}xf32>
}}
func.func private @sum(%b: tensor<2xf32>) -> tensor<2xf32> {{
  %1 = sdy.all_reduce {kind}{{{axes}}} %b out_sharding=<@mesh, [{{}}]> : tensor<2xf32>
  return %1 : tensor<2xf32>
}}
"""


@pytest.mark.parametrize(
    ("manual", "kind", "axes", "expected"),
    [
        ('"x"', "", '"x"', [31, 42]),
        ('"x"', "max ", '"x"', [30, 40]),
        ('"x"', "", '"x", "y"', [31, 42]),  # along the free axis it is one value
        ('"x", "y"', "", '"x", "y"', [62, 84]),
        ('"x", "y"', "", '"y"', [2, 4, 60, 80]),
        ('"x"', "", '"y"', [1, 2, 30, 40]),
    ],
)
def test_all_reduces_along_manual_axes_are_of_the_values_of_devices(
    manual: str, kind: str, axes: str, expected: list[int]
) -> None:
    out = "{}" if "x" in axes else '{"x"}'
    text = REDUCED.format(manual=manual, kind=kind, axes=axes, out=out, size=len(expected))
    (result,) = Executable(parse_module(text)).run([np.array([[1, 2, 30, 40]], np.float32)])
    assert result[0].tolist() == expected
