"""All reports, of Python and of the shell, give one program the same figures."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shardy_py.api import Program, Result, propagate
from shardy_py.cli.check import main as sdy_check
from shardy_py.cli.diff import main as sdy_diff
from shardy_py.cli.explorer import main as shardy_explorer
from shardy_py.cli.opt import main as sdy_opt
from shardy_py.testing import assert_collectives

_MESH = 'sdy.mesh @mesh = <["data"=4, "model"=2]>'
# A layer of an MLP with a call; the second product needs an all_gather.
LAYER = """
func.func public @main(
    %x: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %up: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %down: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> tensor<512x1024xf32> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
      : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  %1 = call @act(%0) : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0]
      : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>
  return %2 : tensor<512x1024xf32>
}
func.func private @act(%arg0: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<512x4096xf32>
  return %0 : tensor<512x4096xf32>
}
"""
# The sum over `data` is kept in parts: XLA makes a reduce_scatter of its all_reduce.
SCATTERED = """
func.func public @main(
    %x: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<512x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>})
    -> (tensor<1024x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
      : (tensor<512x1024xf32>, tensor<512x256xf32>) -> tensor<1024x256xf32>
  return %0 : tensor<1024x256xf32>
}
"""
# An all_reduce in each of 5 iterations.
LOOP = """
func.func public @main(
    %w: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %x: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}) -> tensor<64x256xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<64x256xf32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
        : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<64x256xf32>
  }
  return %0#1 : tensor<64x256xf32>
}
"""
# The sharded factor is lost in the reshape: Shardy's partitioner gathers, though there is no reshard.
LOST = """
func.func public @main(%x: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> tensor<384xf32> {
  %0 = stablehlo.reshape %x : (tensor<64x6xf32>) -> tensor<384xf32>
  return %0 : tensor<384xf32>
}
"""
BODIES = {"layer": LAYER, "scattered": SCATTERED, "loop": LOOP, "lost": LOST}
Reports = dict[str, Any]


def _text(body: str, *, by_jax: bool) -> str:
    head = "module @jit_f attributes {mhlo.num_partitions = 8 : i32}" if by_jax else "module @f"
    return f"{head} {{\n{_MESH}\n{body}\n}}\n"


@pytest.fixture(params=[(name, by_jax) for name in BODIES for by_jax in (True, False)], ids=str)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    name, by_jax = request.param
    path = tmp_path / "f.mlir"
    path.write_text(_text(BODIES[name], by_jax=by_jax))
    return str(path)


def _shell(program: str, capsys: pytest.CaptureFixture[str], *flags: str) -> Reports:
    reports = ("--communication-report", "--memory-report", "--time-report", "--json")
    assert sdy_opt([program, "--sdy-propagation-pipeline", *reports, *flags]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("remark: taken") == (0 if flags else 1)
    return json.loads(printed.out)


def _python(program: str, as_compiled: bool | None = None) -> Result:
    return propagate(Program.load(program, as_compiled=as_compiled), progress=False)


def test_python_and_the_shell_agree(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    shell, result = _shell(program, capsys), _python(program)
    bill = result.communication()
    sent = [(use.kind, use.times, use.cost.bytes, use.cost.seconds) for use in bill.collectives]
    assert sent  # each of these programs communicates
    listed = shell["communication"]["collectives"]
    assert [(row["kind"], row["times"], row["bytes"], row["seconds"]) for row in listed] == sent
    assert shell["communication"]["partitioner"] == bill.partitioner
    memory, time = result.memory(), result.time()
    assert shell["memory"]["memory_bytes"] == memory.memory_bytes == memory.estimate.total_bytes
    assert shell["memory"]["alive_bytes"] == memory.alive_bytes
    assert (shell["time"]["communication"], shell["time"]["seconds"]) == (
        time.communication,
        {"overlapped": time.overlapped, "serial": time.serial},
    )


@pytest.mark.parametrize("as_compiled", [True, False])
def test_a_flag_and_an_argument_agree(
    as_compiled: bool, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = "--as-compiled" if as_compiled else "--as-written"
    shell, bill = _shell(program, capsys, flag), _python(program, as_compiled).communication()
    assert shell["communication"]["partitioner"] == bill.partitioner == ("xla" if as_compiled else "shardy")
    assert shell["communication"]["total"] == {"bytes": bill.total.bytes, "seconds": bill.total.seconds}


def test_a_collective_takes_the_same_time_in_all_reports(program: str) -> None:
    result = _python(program)
    bill, time = result.communication(), result.time()
    timed = [(node, runs) for node, runs in time.nodes() if node.use is not None]
    assert Counter(node.use.kind for node, _ in timed if node.use) == bill.counts
    for node, runs in timed:
        assert node.use is not None
        same = [use for use in bill.sending if (use.kind, use.times) == (node.use.kind, runs)]
        assert node.seconds in [use.cost.seconds for use in same]
    assert time.communication == pytest.approx(bill.total.seconds, rel=1e-12)
    assert_collectives(result, bill.counts, max_bytes=bill.total.bytes, max_seconds=bill.total.seconds)


def test_comparisons_and_pages_have_the_figures_of_the_reports(
    program: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = _python(program)
    bill, memory = result.communication(), result.memory()
    wanted = {
        "collectives": dict(sorted(bill.counts.items())),
        "bytes": bill.total.bytes,
        "seconds": pytest.approx(bill.total.seconds, rel=1e-12),
        "memory_bytes": memory.memory_bytes,
        "partitioner": bill.partitioner,
    }
    assert sdy_diff([program, program, "--propagate", "--json"]) == 0
    stage = {"stage": "as partitioned", "jax": result.release.name}
    assert json.loads(capsys.readouterr().out)["before"] == {**wanted, **stage}
    before = result.what_if({"%arg0": None}).figures[0]
    assert {name: getattr(before, name) for name in wanted} == wanted
    page = tmp_path / "page.html"
    assert shardy_explorer([program, "-o", str(page)]) == 0
    match = re.search(r'id="data">([^<]*)</script>', page.read_text())
    assert match is not None
    summary = json.loads(zlib.decompress(b64decode(match[1])))["summary"]
    assert summary == [*_summary(result), memory.memory_bytes]
    assert sdy_check([program, "--select", "SDY003", "--reshard-bytes", "1", "--format", "json"]) in (0, 1)


def _summary(result: Result) -> list[object]:
    bill = result.communication()
    by = f"{bill.partitioner}, as partitioned"
    return [bill.total.bytes, bill.total.seconds, len(bill.sending), by, bill.model.name]


def test_a_suggestion_has_the_figures_of_the_reports(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(_text(SCATTERED, by_jax=True))
    program = Program.load(path)
    suggestion = program.suggest(tries=3, progress=False)
    result = propagate(suggestion.program(), progress=False)
    cost = suggestion.best.cost
    assert (cost.serial, cost.overlapped) == pytest.approx((result.time().serial, result.time().overlapped))
    assert cost.memory_bytes == result.memory("tpu-v5p").memory_bytes
    assert cost.received_bytes == result.communication().total.bytes
