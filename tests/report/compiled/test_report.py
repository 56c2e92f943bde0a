"""Programs beside what compilers made of them: what each collective was, and what changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.report.compiled import CompiledReport
from tests.eight_devices import run_on_eight_devices
from tests.report.compiled.compiled_program import COMPILED, LINE_7, LINE_9, PROGRAM


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(Program.parse(PROGRAM), progress=False)


@pytest.fixture(scope="module")
def report(result: Result) -> CompiledReport:
    return result.against(COMPILED)


def test_each_collective_with_its_line_and_annotation(report: CompiledReport) -> None:
    total, gather = report.collectives
    assert total.locations == ("model.py:7:3 jit(f)/dot",)
    assert gather.locations == ("model.py:9:3 jit(f)/constraint",)
    assert [change.words for change in total.changes] == ["bf16 widened to f32"]
    assert not gather.changes
    assert (total.axes, total.total.bytes, gather.total.bytes) == ((("x", 4),), 384, 96)
    assert report.origins_of(gather) == ('"x" is from the argument sharding of %arg2 [<program>:5:5]',)
    assert report.is_as_forecast
    assert report.exposed == report.total


def test_all_forms_have_the_same_rows(report: CompiledReport) -> None:
    document = json.loads(json.dumps(report.to_json()))
    rows = report.to_rows()
    assert (
        [each["name"] for each in document["collectives"]]
        == [row["name"] for row in rows]
        == ["sum.1", "gather"]
    )
    assert report.to_csv().count("\n") == 3
    assert len(report._repr_html_()) < 20_000  # pyright: ignore[reportPrivateUsage]
    assert repr(report) == "<CompiledReport: jit_f, 2 collectives, 480 B>"
    assert str(report).startswith(
        "Compiled program jit_f beside the forecast, as compiled by XLA:CPU for cpu\n"
    )


def test_memory_by_the_schedule_and_by_the_assignment(result: Result, tmp_path: Path) -> None:
    memory = result.against(COMPILED).memory
    assert memory.estimate is not None
    assert (memory.held.arguments, memory.estimate.arguments) == (160, 160)
    assert memory.largest[0].location == "model.py:7:0 jit(f)/dot"
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "module_0001.jit_g.before_optimizations.txt").write_text(COMPILED)
    (folder / "module_0001.jit_g.cpu_after_optimizations.txt").write_text(COMPILED)
    (folder / "module_0001.jit_g.cpu_after_optimizations-buffer-assignment.txt").write_text(
        "allocation 0: size 512, preallocated-temp:\n value: <7 dot @0> (size=256,offset=0): f32[8,8]{1,0}\n"
    )
    memory = result.against(folder).memory
    assert (memory.held.temporaries, memory.held.by) == (512, "the buffer assignment of XLA")
    assert [each.location for each in memory.largest] == ["model.py:7:0 jit(f)/dot"]


def test_what_is_not_as_forecast(result: Result) -> None:
    other = COMPILED.replace(LINE_9, LINE_9.replace("9}", "12}")).replace("constraint", "other")
    report = result.against(other)
    assert [each.sent.name for each in report.unforeseen] == ["gather"]
    assert [use.cause.location for use in report.absent] == ["model.py:9:3 jit(f)/constraint"]
    assert not report.is_as_forecast
    text = str(report)
    assert (
        "Not forecast, or not as a whole:\n  all_gather gather, 2x8xbf16, 96 B  [model.py:12:0 jit(f)/other]"
        in text
    )
    assert "Forecast, not in the compiled program:\n  all_gather along x=4, 192 B  [model.py:9:3" in text
    (run,) = json.loads(json.dumps(report.to_sarif("program.mlir")))["runs"]
    found = [
        (each["ruleId"], each["locations"][0]["physicalLocation"]["region"]["startLine"])
        for each in run["results"]
    ]
    assert found == [("SDYC001", 12), ("SDYC002", 9), ("SDYC003", 7), ("SDYC003", 12)]


def test_another_program_is_told(result: Result) -> None:
    text = COMPILED.replace(
        "%r = bf16[2,8]{1,0} parameter(2)", "%r = bf16[2,8]{1,0} slice(%q), slice={[0:2], [0:8]}"
    )
    assert result.against(text).warnings == (
        "the compiled program has 2 arguments, the program 3: it may be another one",
    )


def test_without_metadata_and_locations(result: Result) -> None:
    plain = COMPILED.replace(f", {LINE_7}", "").replace(f", {LINE_9}", "")
    report = result.against(plain)
    assert [each.evidence and each.evidence.name for each in report.collectives] == ["STRUCTURE", "STRUCTURE"]
    assert [each.locations for each in report.collectives] == [
        ("model.py:7:3 jit(f)/dot",),
        ("model.py:9:3 jit(f)/constraint",),
    ]


def test_by_shardys_partitioner(result: Result) -> None:
    report = result.against(COMPILED, partitioner="shardy")
    assert [use.kind for each in report.collectives for use in each.before] == ["all_reduce", "all_gather"]


@pytest.mark.parametrize(
    ("compiled", "message"),
    [
        (
            7,
            "expected HLO text, the path of a file or folder, or a jax.stages.Compiled, got a int",
        ),
        (PROGRAM, "-: error: expected HLO of a compiled program, got MLIR; pass compiled.as_text()"),
        ("/nowhere.hlo", "cannot open input file '/nowhere.hlo'"),
    ],
)
def test_other_things_are_errors(result: Result, compiled: object, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        result.against(compiled)  # pyright: ignore[reportArgumentType]
    assert message in str(caught.value)


def test_reports_of_a_compiled_program_of_jax() -> None:
    """The object of JAX, in a loop that XLA keeps, whose gathers are combined or not."""
    found = run_on_eight_devices(
        """
import json
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
from shardy_py import Program, propagate

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
def of(shape, *spec): return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))
def step(w, x):
    return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0].sum()
lowered = jax.jit(jax.grad(step)).lower(of((3, 16, 16), None, "data", "model"), of((8, 16), "data"))
report = propagate(Program.from_jax(lowered), progress=False).against(lowered.compile())
print(json.dumps({
    "as_forecast": report.is_as_forecast,
    "runs": sorted(each.sent.runs for each in report.collectives),
    "lines": [bool(each.locations) for each in report.collectives],
}))
"""
    )
    assert found["as_forecast"]
    assert set(found["runs"]) == {3}
    assert all(found["lines"])


BRANCHES = """module @jit_f {
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                       %arg1: tensor<i32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%arg0, %arg1)
      in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>]
      manual_axes={"x", "y"} (%arg2: tensor<2x4xf32>, %arg3: tensor<i32>) {
    %1 = "stablehlo.case"(%arg3) ({
      %2 = "stablehlo.all_reduce"(%arg2) <{
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>,
          use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      stablehlo.return %2 : tensor<2x4xf32>
    }, {
      stablehlo.return %arg2 : tensor<2x4xf32>
    }) : (tensor<i32>) -> tensor<2x4xf32>
    sdy.return %1 : tensor<2x4xf32>
  } : (tensor<8x8xf32>, tensor<i32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}
"""


def test_collectives_of_what_branches_capture_in_a_shard_map(tmp_path: Path) -> None:
    compiled = tmp_path / "compiled.hlo"
    compiled.write_text("HloModule m, is_scheduled=true\nENTRY e { ROOT p = f32[2,4] parameter(0) }")
    report = propagate(Program.parse(BRANCHES), progress=False).against(str(compiled), target="cpu")
    assert [use.kind for use in report.absent] == ["all_reduce"]
