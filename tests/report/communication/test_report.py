"""Communication reports: collectives with their axes, bytes and causes; sums; text and JSON."""

from __future__ import annotations

import json

import pytest

from shardy_py.api import pipeline
from shardy_py.base.errors import ShardyError
from shardy_py.hardware.cost import CostModel, Link
from shardy_py.mlir.movements import recorded
from shardy_py.report.communication import (
    CommunicationReport,
    communication_json,
    communication_report,
    communication_text,
)
from shardy_py.report.communication.of_program import forecast

MODEL = CostModel("test", Link(1e9, 0))

MATMUL = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %arg1: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> loc("jit(f)/dot"("model.py":7:3))
  return %0 : tensor<8x4xf32>
}
"""

LOOP = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %arg1: tensor<i32>,
                %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<START> : tensor<i32>
  %0:2 = stablehlo.while(%i = COUNTER, %x = %arg0) : tensor<i32>, tensor<8x8xf32>
  cond {
    %n = stablehlo.constant dense<10> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %j = stablehlo.add %i, %three : tensor<i32>
    %y = stablehlo.dot_general %x, %arg2, contracting_dims = [1] x [0]
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %j, %y : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
"""

MANUAL = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%arg0)
      in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>]
      manual_axes={"x", "y"} (%arg1: tensor<4x2xf32>) {
    %1 = "stablehlo.all_reduce"(%arg1) <{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<GROUPS> : tensor<ROWSxi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %2 = "stablehlo.collective_permute"(%1) <{
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
        source_target_pairs = dense<[[0, 4], [4, 0]]> : tensor<2x2xi64>
    }> : (tensor<4x2xf32>) -> tensor<4x2xf32>
    sdy.return %2 : tensor<4x2xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


def bill_of(text: str) -> CommunicationReport:
    module = pipeline.finish(pipeline.propagate(pipeline.prepare(pipeline.read(text))))
    with recorded() as events:
        pipeline.collectives(module)
    return communication_report(module, MODEL, events)


def test_a_product_over_a_sharded_dimension() -> None:
    (use,) = bill_of(MATMUL).collectives
    assert (use.kind, use.axes, use.held_bytes) == ("all_reduce", (("x", 4),), 128)
    assert use.cost.bytes == 2 * 96
    assert use.cause.op == "stablehlo.dot_general"
    assert use.cause.reason == "stablehlo.dot_general reduces a sharded dimension"
    assert use.cause.location == "model.py:7:3 jit(f)/dot"


def test_an_operand_that_requires_another_sharding() -> None:
    text = MATMUL.replace('<@mesh, [{"x"}, {}]>', '<@mesh, [{}, {"x"}]>').replace(
        "<@mesh, [{}, {}]>", '<@mesh, [{}, {"x"}]>'
    )
    causes = {(use.kind, use.cause.op, use.cause.operand) for use in bill_of(text).sending}
    assert ("all_to_all", "stablehlo.dot_general", 1) in causes


@pytest.mark.parametrize(
    ("start", "counter", "times", "is_estimate"),
    [("0", "%c", 4, False), ("1", "%c", 3, False), ("10", "%c", 0, False), ("0", "%arg1", 1, True)],
)
def test_loops(start: str, counter: str, times: int, is_estimate: bool) -> None:
    bill = bill_of(LOOP.replace("START", start).replace("COUNTER", counter))
    assert bill.sending
    assert all((use.times, use.is_estimate) == (times, is_estimate) for use in bill.sending)
    assert bill.total.bytes == sum(use.cost.bytes for use in bill.sending) * times
    assert ("unknown trip count" in communication_text(bill)) == is_estimate


@pytest.mark.parametrize(
    ("start", "direction", "limit", "step", "times"),
    [
        (0, "LT", 10, "add", range(0, 10, 3)),
        (0, "LE", 9, "add", range(0, 10, 3)),
        (10, "GT", 0, "subtract", range(10, 0, -3)),
        (9, "GE", 0, "subtract", range(9, -1, -3)),
        (0, "GE", 9, "subtract", range(0)),
        (0, "GT", 9, "add", range(0)),
        (0, "NE", 9, "add", range(0, 9, 3)),
        (0, "NE", 10, "add", None),
        (10, "GT", 0, "add", None),
    ],
)
def test_turns_up_and_down(start: int, direction: str, limit: int, step: str, times: range | None) -> None:
    text = LOOP.replace("dense<10>", f"dense<{limit}>").replace("START", str(start)).replace("COUNTER", "%c")
    text = text.replace("compare LT", f"compare {direction}").replace("add %i", f"{step} %i")
    uses = bill_of(text).sending
    assert uses
    assert {(use.times, use.is_estimate) for use in uses} == {
        (1, True) if times is None else (len(times), False)
    }


@pytest.mark.parametrize("element", ["i32", "f32"])
def test_a_loop_that_may_end_early_counts_up_to_its_bound(element: str) -> None:
    """`i < 10` and not done: at most 4 steps of 3."""
    text = (
        LOOP.replace("START", "0")
        .replace("COUNTER", "%c")
        .replace(
            "stablehlo.return %p :",
            "%q = stablehlo.compare LT, %z, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            "%both = stablehlo.and %q, %p : tensor<i1>\nstablehlo.return %both :",
        )
    )
    text = text.replace("%z", "%arg1")
    if element == "f32":
        text = (
            text.replace("i32", "f32")
            .replace("<0>", "<0.0>")
            .replace("<10>", "<10.0>")
            .replace("<3>", "<3.0>")
        )
    bill = bill_of(text)
    assert bill.sending
    assert {(use.times, use.is_estimate) for use in bill.sending} == {(4, True)}


@pytest.mark.parametrize(
    ("groups", "rows", "axes"),
    [
        ("[[0, 1, 2, 3], [4, 5, 6, 7]]", "2x4", (("y", 4),)),
        ("[[0, 4], [1, 5], [2, 6], [3, 7]]", "4x2", (("x", 2),)),
        ("[[0, 1, 2, 3, 4, 5, 6, 7]]", "1x8", (("x", 2), ("y", 4))),
        ("[[0, 3], [1, 2], [4, 7], [5, 6]]", "4x2", (("y", 2),)),
        ("[[0, 5], [1, 4], [2, 7], [3, 6]]", "4x2", (("?", 2),)),
    ],
)
def test_collectives_of_the_program(groups: str, rows: str, axes: tuple[tuple[str, int], ...]) -> None:
    reduce, permute = bill_of(MANUAL.replace("GROUPS", groups).replace("ROWS", rows)).collectives
    assert (reduce.kind, reduce.axes, reduce.held_bytes) == ("all_reduce", axes, 32)
    assert (permute.kind, permute.axes) == ("collective_permute", (("x", 2),))
    assert permute.cause.reason == "written in the program"


def test_the_mesh_around_is_meant() -> None:
    """Of two meshes with as many devices that of the manual computation; devices by number, not by place."""
    groups = "[[0, 1, 2, 3], [4, 5, 6, 7]]"
    text = MANUAL.replace("GROUPS", groups).replace("ROWS", "2x4")
    _, permute = bill_of('sdy.mesh @flat = <["all"=8]>' + text).collectives
    assert permute.axes == (("x", 2),)
    turned = text.replace('"y"=4]', '"y"=4], device_ids=[0, 4, 1, 5, 2, 6, 3, 7]')
    _, permute = bill_of(turned).collectives
    assert permute.axes == (("y", 4),)


def test_sums() -> None:
    bill = bill_of(MATMUL)
    assert bill.counts == {"all_reduce": 1}
    assert [entry.key for entry in bill.by_axes] == ["x"]
    assert [entry.key for entry in bill.by_line] == ["model.py:7"]
    text = communication_text(bill)
    assert "1 collective; each device receives 192 B in 192.00 ns on test." in text
    assert "8x4xf32" in text


@pytest.mark.parametrize(
    ("location", "line", "place"),
    [
        ('"a b.py":3:4', "a b.py:3", "a b.py:3:4"),
        ('"only a name"', "only a name", "only a name"),
        ('fused["a.py":1:2, "b.py":3:4]', "a.py:1", "a.py:1:2"),
        ('callsite("inner"("lib.py":3:4) at "main.py":9:1)', "lib.py:3", "lib.py:3:4 inner"),
        ("unknown", "(no location)", ""),
    ],
)
def test_lines(location: str, line: str, place: str) -> None:
    bill = bill_of(MATMUL.replace('"jit(f)/dot"("model.py":7:3)', location))
    assert [entry.key for entry in bill.by_line] == [line]
    assert bill.collectives[0].cause.location == place


def test_links_of_unknown_axes() -> None:
    model = CostModel("test", Link(1e9, 0), {"z": Link(1e6, 0)})
    with pytest.raises(ShardyError, match="cost model: unknown axis 'z': expected one of 'x', 'y'"):
        communication_report(pipeline.read(MATMUL), model)


def test_json() -> None:
    found = json.loads(json.dumps(communication_json(bill_of(MATMUL))))
    assert found["total"] == {"bytes": 192, "seconds": pytest.approx(192e-9)}
    (use,) = found["collectives"]
    assert use["cause"]["location"] == "model.py:7:3 jit(f)/dot"
    assert use["axes"] == [{"name": "x", "size": 4}]


def test_nothing_to_send() -> None:
    assert communication_text(
        bill_of("func.func @main(%arg0: tensor<f32>) -> tensor<f32> { return %arg0 : tensor<f32> }")
    ) == (
        "Communication of Shardy's reshards (partitioner: shardy), as partitioned\n"
        "The program needs no communication."
    )


ASYNCHRONOUS = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<4x8xf32> {
  %0 = "stablehlo.async_start"(%arg0) ({
  ^bb0(%arg1: tensor<8x8xf32>):
    %2 = stablehlo.slice %arg1 [0:4, 0:8]
        {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>}
        : (tensor<8x8xf32>) -> tensor<4x8xf32>
    stablehlo.return %2 : tensor<4x8xf32>
  }) : (tensor<8x8xf32>) -> !stablehlo.future<tensor<4x8xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4x8xf32>>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
"""


def test_where_an_op_allows_no_other_beside_it() -> None:
    """The body of async_start has one op; a permute is forecast there, but the partitioner gathers before."""
    module = pipeline.finish(pipeline.propagate(pipeline.prepare(pipeline.read(ASYNCHRONOUS))))
    assert forecast(module)[1].counts == {"halo_exchange": 1, "collective_permute": 1}
    assert pipeline.communication(module)[1].counts == {"all_gather": 1}
