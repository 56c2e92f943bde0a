"""`sdy-check` begins with the verdict; savings and fixes are in JSON and SARIF."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py.cli.check import main

SOURCE = "\n\nh = x @ up\nt = tanh(h)\no = t @ down\n"
PROGRAM = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func public @main(
    %arg0: tensor<4096x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"),
    %arg1: tensor<128x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("up"),
    %arg2: tensor<512x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("down"))
    -> (tensor<4096x128xf32> {jax.result_info = "result"}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<4096x128xf32>, tensor<128x512xf32>) -> tensor<4096x512xf32> loc("dot"("m.py":3:4 to :10))
  %1 = stablehlo.tanh %0 : tensor<4096x512xf32> loc("tanh"("m.py":4:4 to :11))
  %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0]
      : (tensor<4096x512xf32>, tensor<512x128xf32>) -> tensor<4096x128xf32> loc("dot"("m.py":5:4 to :12))
  return %2 : tensor<4096x128xf32>
}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program and its source in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(SOURCE)
    Path("m.mlir").write_text(PROGRAM)


def test_the_verdict_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["m.mlir", "--reshard-bytes=1", "--fail-on=never"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Verdict: each device receives ")
    assert lines[1].startswith("What to change")
    assert any(": t @ down" in line or ": o = t @ down" in line for line in lines)
    findings = next(n for n, line in enumerate(lines) if "[SDY003]" in line)
    assert findings > lines.index("Largest causes:")


def test_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["m.mlir", "--no-verdict", "--select=SDY004"]) == 0
    assert capsys.readouterr().out == "no findings\n"
    assert main(["m.mlir", "--no-verdict", "--select=SDY004", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] is None


def test_json_has_savings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["m.mlir", "--reshard-bytes=1", "--select=SDY003", "--json", "--fail-on=never"]) == 0
    data = json.loads(capsys.readouterr().out)
    verdict, (finding,) = data["verdict"], data["findings"]
    assert verdict["changes"][0]["after"]["bytes"] < verdict["bytes"]
    assert finding["savings"]["before"]["bytes"] == verdict["bytes"]
    assert finding["savings"]["words"] in finding["remedy"]
    assert {"bytes", "seconds", "memory_bytes", "kept_bytes"} == set(finding["savings"]["after"])


def test_sarif_has_fixes_and_links(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--reshard-bytes=1", "--select=SDY003", "--fail-on=never", "--help-uri=https://docs/check#rules"]
    assert main(["m.mlir", "--sarif", "-", *flags]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert {rule["helpUri"] for rule in run["tool"]["driver"]["rules"]} == {"https://docs/check#rules"}
    assert run["properties"]["verdict"]["causes"][0]["file"] == "m.py"
    (result,) = run["results"]
    assert result["properties"]["savings"]["after"]["bytes"] >= 0
    for fix in result.get("fixes", ()):
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"]["uri"] == "m.py"
