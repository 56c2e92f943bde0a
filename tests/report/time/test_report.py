"""The time report on small programs, whose times are worked out here."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from shardy_py import Program, propagate
from shardy_py.api.result import Result
from shardy_py.base.errors import ShardyError
from shardy_py.hardware import HARDWARE
from shardy_py.report.communication import Partitioner
from shardy_py.report.time import TimeReport, time_json
from shardy_py.report.time.counted import PlannedFacts
from shardy_py.report.time.local_work import NOTHING, local_work
from shardy_py.xla.spmd.from_program import SpmdProgram

V5P = HARDWARE["tpu-v5p"]
EXAMPLE = Path(__file__).parents[3] / "examples" / "transformer_train.mlir"

PRODUCT = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<4096x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
                %w: tensor<8192x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
    -> tensor<4096x4096xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x8192xbf16>, tensor<8192x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.tanh %0 : tensor<4096x4096xbf16>
  %2 = stablehlo.add %1, %1 : tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}
"""


def result_of(text: str) -> Result:
    return propagate(Program.parse(text))


@pytest.fixture(scope="module")
def product() -> TimeReport:
    return result_of(PRODUCT).time("tpu-v5p")


def test_a_product_sums_parts_and_a_group_of_elementwise_ops_follows(product: TimeReport) -> None:
    dot, total, group = [node for node, _ in product.nodes()]
    assert (dot.bound, total.bound, group.bound) == ("compute", "communication", "memory")
    flops = 2 * 1024 * 4096 * 4096
    assert dot.work.product_flops == flops
    assert dot.seconds == pytest.approx(flops / 459e12)
    assert total.axes == ("model",)
    assert total.seconds == pytest.approx(1024 * 4096 * 2 / 100e9 + 2e-6)
    assert group.members == ("stablehlo.tanh",)
    assert (group.work.flops, group.work.transcendentals) == (1024 * 4096, 1024 * 4096)
    assert group.seconds == pytest.approx(2 * 1024 * 4096 * 2 / V5P.memory_bytes_per_second)


def test_an_op_waits_for_those_it_needs(product: TimeReport) -> None:
    assert product.overlapped == product.serial == pytest.approx(sum(n.seconds for n, _ in product.nodes()))
    assert product.seconds == (product.overlapped, product.serial)
    assert product.compute + product.memory_bound + product.communication == pytest.approx(product.serial)
    assert product.by_axes == {"model": pytest.approx(product.communication)}
    assert product.bound == "links of model"
    assert product.model_flops == 2 * 4096 * 8192 * 4096
    assert product.mfu[0] == pytest.approx(product.model_flops / 8 / 459e12 / product.serial)


LOOP = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%c: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %carry = %c, %v = %w)
      : tensor<i32>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>
    cond {
      %n = stablehlo.constant dense<7> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.dot_general %carry, %v, contracting_dims = [1] x [0]
          : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
      stablehlo.return %1, %2, %v : tensor<i32>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>
    }
  return %0#1 : tensor<1024x1024xbf16>
}
"""


def test_a_loop_counts_as_often_as_it_runs() -> None:
    report = result_of(LOOP).time("h100")
    assert report.work.product_flops == 7 * 2 * 1024**3
    (runs,) = [runs for node, runs in report.nodes() if node.name == "stablehlo.dot_general"]
    assert runs == 7
    assert report.overlapped <= report.serial


def test_json_and_rows(product: TimeReport) -> None:
    data = time_json(product)
    assert data["seconds"] == {"overlapped": product.overlapped, "serial": product.serial}
    assert [row["op"] for row in data["ops"]] == ["stablehlo.dot_general", "all_reduce", "stablehlo.add"]
    assert product.to_csv().splitlines()[0].startswith("op,bound,axes,runs")
    assert repr(product).startswith("<TimeReport: tpu-v5p, ")
    assert "links of model" in product._repr_html_()


def test_hardware_must_be_known() -> None:
    with pytest.raises(ShardyError, match="unknown hardware 'abacus'"):
        result_of(PRODUCT).time("abacus")


def test_links_can_be_given() -> None:
    slow = result_of(PRODUCT).time("tpu-v5p", links="tpu-v5p,model=tpu-dcn")
    assert slow.bound == "links of model"


def test_either_partitioner_can_be_asked() -> None:
    report = result_of(PRODUCT).time(partitioner="shardy")
    assert report.by_axes == {"model": pytest.approx(report.communication)}
    assert report.work.product_flops == 2 * 1024 * 4096 * 4096


@pytest.mark.parametrize("partitioner", ["shardy", "xla"])
@pytest.mark.parametrize(
    "name",
    [
        *("shard_map_collectives", "explicit_axes", "moe"),
        pytest.param("scan_transformer", marks=pytest.mark.slow),
    ],
)
def test_the_bill_is_that_of_the_communication_report(
    name: str, partitioner: Partitioner, corpus: Callable[[str], str]
) -> None:
    """But for sums of which devices keep parts, which are timed as reduce-scatters, and unused results."""
    result = propagate(Program.parse(corpus(name), as_compiled=True))
    report = result.time("tpu-v5e", partitioner=partitioner)
    bill = result.communication(report.model, partitioner=partitioner)
    assert report.communication == pytest.approx(bill.total.seconds, rel=0.05)
    assert report.communication <= bill.total.seconds * (1 + 1e-9)


KEPT = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
"""


def test_a_sum_of_which_devices_keep_parts_is_a_reduce_scatter() -> None:
    result = result_of(KEPT)
    (bill,) = result.communication(partitioner="xla").sending
    names = [node.name for node, _ in result.time(partitioner="xla").nodes()]
    assert (bill.kind, names) == ("all_reduce", ["stablehlo.dot_general", "reduce_scatter"])


def test_a_report_can_be_pickled(product: TimeReport) -> None:
    again = pickle.loads(pickle.dumps(product))
    assert str(again) == str(product)
    assert time_json(again) == time_json(product)


def test_locations_are_read_when_they_are_shown() -> None:
    """A pickle has their text, not the program."""
    report = propagate(Program.load(EXAMPLE), progress=False).time("tpu-v5p")
    texts = [node.location for node, _ in report.nodes()]
    again: TimeReport = pickle.loads(pickle.dumps(report))
    assert [node.place for node, _ in again.nodes()] == texts
    assert all(texts)


TRANSFORMS = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<64x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<64x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<64x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<64x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<64x8xcomplex<f32>>) -> tensor<64x8xcomplex<f32>>
  %1 = stablehlo.fft %b, type = FFT, length = [8] : (tensor<64x8xcomplex<f32>>) -> tensor<64x8xcomplex<f32>>
  return %0, %1 : tensor<64x8xcomplex<f32>>, tensor<64x8xcomplex<f32>>
}
"""
"""Equal ops whose results are sharded alike, of operands that are not."""


@pytest.mark.parametrize("text", [EXAMPLE.read_text(), TRANSFORMS], ids=["layers", "operands"])
def test_equal_steps_are_counted_as_each_alone(text: str) -> None:
    program = SpmdProgram(propagate(Program.parse(text), progress=False).program.module)
    facts = PlannedFacts.of(program, program.entries[0])
    for step in facts.block.steps:
        if id(step) in facts.sent:
            assert id(step) not in facts.works or id(step) in facts.equal
            continue
        held = [facts.tilings.get(name) for name in step.operands]
        alone = local_work(step, (), held, is_planned=facts.is_planned)
        assert facts.works[id(step)] == (NOTHING if id(step) in facts.equal else alone)
