from __future__ import annotations

import json
import re
from pathlib import Path

from shardy_py.api import pipeline
from shardy_py.mlir.dialects import parse_module
from shardy_py.report.memory import SCHEMA, memory_json, memory_report, memory_text

TWO = """
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @other = <["y"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"y"}]>}, %arg1: tensor<?xf32>)
    -> (tensor<8xf32> {jax.result_info = "out"}) {
  %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %arg0 : tensor<8xf32>
}
func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  %1 = stablehlo.abs %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""


def test_the_page_shows_what_is_printed(root: Path) -> None:
    page = (root / "docs" / "memory.md").read_text()
    (program,) = re.findall(r"```mlir\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)\n```", page, re.DOTALL)
    module = pipeline.read(program, "program.mlir")
    module = pipeline.finish(pipeline.propagate(pipeline.prepare(module)))
    assert memory_text(memory_report(module, "tpu")) == shown


def test_several_meshes_functions_and_what_is_not_counted() -> None:
    lines = memory_text(memory_report(parse_module(TWO), "linear")).split("\n")
    assert lines[1:3] == ['mesh @mesh = <["x"=2]>, 2 devices', 'mesh @other = <["y"=2]>, 2 devices']
    assert any(line.startswith("@f:%0 ") and " - " in line for line in lines)
    assert any(line.startswith("%arg0 ") and ' <@other, [{"y"}]> ' in line for line in lines)
    assert any(line.startswith("result 0 ") and line.endswith("  out") for line in lines)
    assert lines[-2:] == ["Not counted:", "  %arg1 of @main, ?xf32: a dynamic dimension without a bound"]
    place = "%0 = func.call of @main (-:6:8), within it %0 = stablehlo.abs of @f (-:10:8)"
    assert f"Most is alive at {place}" in lines


def test_long_lists_of_device_ids_are_abbreviated() -> None:
    ids = ", ".join(map(str, reversed(range(32))))
    module = parse_module(
        f'sdy.mesh @mesh = <["x"=32], device_ids=[{ids}]>\nfunc.func @main() {{\n  return\n}}'
    )
    assert "device_ids=[31, 30, 29, 28, 27, 26, 25, 24, ...]>, 32 devices" in memory_text(
        memory_report(module, "linear")
    )


def test_tables_are_shortened() -> None:
    text = memory_text(memory_report(parse_module(TWO), "linear"), rows=1)
    assert text.count("\n... and ") == 2
    assert "\n... and 3 more\n" in text
    assert "\n... and 6 more\n" in text


def test_what_cannot_be_estimated_says_why() -> None:
    text = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n %0 = stablehlo.abs %a : tensor<?xf32>\n"
    report = memory_report(parse_module(text + " return %0 : tensor<?xf32>\n}"), "linear")
    assert report.memory_bytes == report.alive_bytes
    (line,) = report.headline
    assert f"; what XLA allocates cannot be estimated: {report.not_estimated}" in line
    assert "not static tensors" in report.not_estimated


def test_an_empty_module() -> None:
    text = memory_text(memory_report(parse_module("module {\n}\n"), "tpu"))
    head = "Memory on each device, target tpu, as partitioned"
    assert text == f"{head}\n\nThe module has no function with a body."


def test_a_program_that_does_nothing() -> None:
    text = memory_text(memory_report(parse_module("func.func @main() {\n  return\n}"), "tpu"))
    assert text.endswith("Most is alive on entry.")


def test_unregistered_ops_have_their_written_names() -> None:
    program = """
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = "mine.op"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    """
    report = memory_report(parse_module(program, "p.mlir", allow_unregistered=True), "tpu")
    assert "Most is alive at %0 = mine.op of @main (p.mlir:3:12)" in memory_text(report)
    assert "builtin.unregistered" not in json.dumps(memory_json(report))


def test_json_has_the_documented_keys(root: Path) -> None:
    report = memory_report(parse_module(TWO), "linear")
    found = json.loads(json.dumps(memory_json(report)))
    page = (root / "docs" / "memory.md").read_text()
    assert f"| `{SCHEMA}` |" in page
    documented = set(re.findall(r"`(\w+)`", page[page.index("## JSON") :]))
    (entry,) = found["entries"]
    for keys in (found, entry, entry["peak"], entry["peak"]["place"][0], found["tensors"][0]):
        assert keys.keys() <= documented
    assert [found["tensors"][i]["name"] for i in entry["peak"]["alive"]] == ["%arg0", "%0", "%arg0", "%arg1"]
    sizes = [tensor["padded_bytes"] for tensor in found["tensors"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes[i] for i in entry["peak"]["alive"]) == entry["peak"]["padded_bytes"]
    assert [t["shape"] for t in found["tensors"] if t["not_counted"]] == [[None]]
    assert found["meshes"]["other"] == {"axes": {"y": 2}, "devices": 2}
