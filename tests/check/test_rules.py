"""Each rule finds what it is for, and nothing where there is nothing; baselines, SARIF, the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shardy_py.api import Program, ShardyError, propagate
from shardy_py.base.errors import Position
from shardy_py.check import (
    RULES,
    Choice,
    Finding,
    Limits,
    baseline_text,
    check,
    findings_sarif,
    findings_text,
    without_baseline,
)
from shardy_py.cli.check import main
from shardy_py.hardware.cost import cost_model

SMALL = Limits(replicated_bytes=1, reshard_bytes=1, padding_bytes=1)

CLEAN = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.tanh %arg0 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""

BAD = {
    "SDY001": """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg1: tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<16x4xf32>) {
  %0 = stablehlo.tanh %arg1 : tensor<16x4xf32> loc("model.py":3:7)
  return %arg0, %0 : tensor<8x4xf32>, tensor<16x4xf32>
}
""",
    "SDY002": """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x4xf32>) -> tensor<10x4xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<10x4xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<10x4xf32>
  %2 = stablehlo.tanh %1 : tensor<10x4xf32>
  return %2 : tensor<10x4xf32>
}
""",
    "SDY003": """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32> loc("model.py":9:1)
  return %0 : tensor<8x8xf32>
}
""",
    "SDY004": CLEAN.replace('["x"=2]', '["x"=2, "idle"=4]'),
    "SDY005": CLEAN.replace(
        "stablehlo.tanh %arg0 :",
        "stablehlo.custom_call @mystery(%arg0) : (tensor<8x4xf32>) ->",
    ),
    "SDY006": CLEAN.replace('<@mesh, [{"x"}, {}]>})\n', "<@mesh, [{?}, {?}]>})\n"),
    "SDY008": """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<4> : tensor<i32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %n, %sum = %arg2) : tensor<i32>, tensor<8x8xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %d = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":5:3)
    %t = stablehlo.add %sum, %d : tensor<8x8xf32>
    stablehlo.return %j, %t : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
""",
    "SDY009": """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<4> : tensor<i32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %n, %x = %arg0) : tensor<i32>, tensor<8x8xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %d = stablehlo.dot_general %x, %arg1, contracting_dims = [1] x [0]
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":5:3)
    stablehlo.return %j, %d : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
""",
    "SDY010": """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.slice %arg0 [0:8, 8:16] : (tensor<8x24xf32>) -> tensor<8x8xf32> loc("model.py":5:3)
  return %0 : tensor<8x8xf32>
}
""",
    "SDY011": """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.custom_call @mix(%arg0, %arg1) {sdy.sharding_rule =
      #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=8}, custom>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("model.py":5:3)
  return %0 : tensor<8x8xf32>
}
""",
    "SDY014": """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<16x4xf32> {
  %0 = stablehlo.custom_call @twice(%arg0) {sdy.sharding_rule =
      #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>}
      : (tensor<8x4xf32>) -> tensor<16x4xf32> loc("model.py":5:3)
  return %0 : tensor<16x4xf32>
}
""",
    "SDY015": """
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
sdy.mesh @mesh = <["a"=2, "b"=4]>
sdy.mesh @mesh_0 = <["x"=2, "y"=2, "z"=2]>
func.func public @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>})
    -> (tensor<16x16xf32>, tensor<16x16xf32> {jax.result_info = "result[1]"}) {
  %0 = stablehlo.constant dense<1.0> : tensor<16x16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh_0, [{"x"}, {"y", "z"}]> : tensor<16x16xf32>
  return %arg0, %1 : tensor<16x16xf32>, tensor<16x16xf32>
}
}
""",
    "SDY013": """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %u: tensor<2x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<2x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.constant dense<8> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %c, %s
      : (tensor<2x8xf32>, tensor<2x1xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
""",
    "SDY012": """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"y"}]> : tensor<64x64xf32> loc("model.py":5:3)
  return %0 : tensor<64x64xf32>
}
""",
    "SDY007": """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
""",
}
SLOW = Limits(1, 1, cost_model("tpu-v5p,x=tpu-dcn"))
XLA = Limits(1, 1, partitioner="xla")
LIMITS = {"SDY007": SLOW, "SDY012": XLA, "SDY013": XLA}


def found_in(text: str, code: str, limits: Limits = SMALL) -> tuple[Finding, ...]:
    return check(propagate(Program.parse(text, "m.mlir")), Choice(selected=(code,)), limits)


@pytest.mark.parametrize("row", RULES, ids=[row.code for row in RULES])
def test_every_rule(row: object) -> None:
    code: str = row.code  # pyright: ignore
    limits = LIMITS.get(code, SMALL)
    found = found_in(BAD[code], code, limits)
    assert found
    assert {finding.code for finding in found} == {code}
    assert all(finding.remedy for finding in found)
    assert found_in(CLEAN, code, limits) == ()


def test_a_rematerialization_names_the_shardings_as_xla_does() -> None:
    (found,) = found_in(BAD["SDY012"], "SDY012", XLA)
    between = "{devices=[2,1,4]<=[8] last_tile_dim_replicate} to {devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim"
    assert f"cannot go from sharding {between}_replicate}} efficiently" in found.message


def test_a_replicated_tensor_is_explained() -> None:
    first, *_ = found_in(BAD["SDY001"], "SDY001")
    assert first.message == "256 B are replicated on every device"
    found = {f.subject: f for f in found_in(BAD["SDY001"], "SDY001")}
    assert str(found["%0"].position) == "model.py:3:7"
    assert "no tensor related to dimension 0 of %arg1 by sharding rules" in found["%arg1"].remedy


def test_who_asks_for_replication_gets_it() -> None:
    asked = BAD["SDY001"].replace(
        "%arg1: tensor<16x4xf32>", "%arg1: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"
    )
    assert "%arg1" not in {f.subject for f in found_in(asked, "SDY001")}


def test_padding() -> None:
    found = found_in(BAD["SDY002"], "SDY002")
    assert found[0].message.endswith('is sharded into 4 parts along "x": 2 of 12 elements are padding')
    assert found[0].remedy.startswith("make it a multiple of 4, such as 12; up to 8 B of padding on each")
    assert found[0].bytes == 8
    assert found_in(BAD["SDY002"], "SDY002", Limits(padding_bytes=9)) == ()
    assert found_in(BAD["SDY002"], "SDY002", Limits()) == ()


def test_padding_has_one_finding_a_cause() -> None:
    (finding,) = found_in(BAD["SDY002"], "SDY002")
    assert finding.subject == "%1"
    text = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<10x4xf32>, %arg1: tensor<10x9xf32>)
    -> (tensor<10x4xf32>, tensor<10x9xf32>, tensor<10x9xf32>) {
  %1 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<10x4xf32> loc("m.py":3:1)
  %2 = stablehlo.tanh %1 : tensor<10x4xf32>
  %5 = sdy.sharding_constraint %arg1 <@mesh, [{"x"}, {}]> : tensor<10x9xf32> loc("m.py":3:9)
  %6 = sdy.sharding_constraint %arg1 <@mesh, [{}, {"x"}]> : tensor<10x9xf32> loc("m.py":4:1)
  return %2, %5, %6 : tensor<10x4xf32>, tensor<10x9xf32>, tensor<10x9xf32>
}
"""
    found = found_in(text, "SDY002")
    assert [(str(each.position), each.bytes) for each in found] == [("m.py:3:1", 18), ("m.py:4:1", 30)]
    assert found[0].remedy.endswith("such as 12; up to 18 B of padding on each device in 3 values")


ROLL = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x4xf32> {
  %0 = stablehlo.slice %arg0 [1:8, 0:4] : (tensor<8x4xf32>) -> tensor<7x4xf32>
  %1 = stablehlo.slice %arg0 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %2 = stablehlo.tanh %0 : tensor<7x4xf32>
  %3 = stablehlo.concatenate %2, %1, dim = 0 : (tensor<7x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}
"""


def test_slices_are_not_the_cause_of_padding() -> None:
    result = propagate(Program.parse(ROLL))
    assert str(result["%0"].sharding).count('"x"') == 1
    assert check(result, Choice(selected=("SDY002",)), SMALL) == ()
    # Nor what is joined from slices.
    joined = ROLL.replace("[0:1, 0:4]", "[0:3:2, 0:4]").replace("tensor<1x4xf32>", "tensor<2x4xf32>")
    joined = joined.replace(
        "-> tensor<8x4xf32>\n  return %3 : tensor<8x4xf32>",
        "-> tensor<9x4xf32>\n  return %3 : tensor<9x4xf32>",
    )
    joined = joined.replace("    -> tensor<8x4xf32> {", "    -> tensor<9x4xf32> {")
    assert found_in(joined, "SDY002") == ()
    # What the program constrains is.
    asked = ROLL.replace("stablehlo.tanh %0 :", 'sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> :')
    asked = asked.replace("x4xf32", "x6xf32").replace("0:4]", "0:6]")
    assert [each.subject for each in found_in(asked, "SDY002")] == ["%2"]


def test_open_boundaries_get_what_was_propagated() -> None:
    text = """
    module @jit_f attributes {mhlo.num_partitions = 4 : i32} {
      sdy.mesh @mesh = <["data"=2, "model"=2]>
      func.func public @main(
          %arg0: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>} loc("w['embed']"),
          %arg1: tensor<32xf32> loc("w['scale']"), %arg2: tensor<8x64xf32> loc("x"))
          -> (tensor<64x32xf32> {jax.result_info = "result['embed']"},
              tensor<32xf32> {jax.result_info = "result['scale']"}) {
        %0 = stablehlo.tanh %arg0 : tensor<64x32xf32>
        %1 = stablehlo.tanh %arg1 : tensor<32xf32>
        return %0, %1 : tensor<64x32xf32>, tensor<32xf32>
      }
    }"""
    result = propagate(Program.parse(text))
    found = check(result, Choice(selected=("SDY006",)))
    (finding,) = found  # nothing is gained for what is replicated
    assert finding.subject == "result['embed']"
    assert finding.remedy == (
        "pass the sharding that was propagated to jax.jit to keep it: out_shardings= of result['embed']: "
        'P("model", None)'
    )
    assert result["%arg0"].sharding == result["result 0"].sharding


def test_places_come_from_the_source() -> None:
    (finding,) = found_in(BAD["SDY003"], "SDY003")
    assert str(finding.position) == "model.py:9:1"
    assert "operand 1 of stablehlo.add requires another sharding" in finding.message


def test_written_reshards_are_no_finding() -> None:
    text = BAD["SDY003"].replace(
        "%0 = stablehlo.add %arg0, %arg1",
        '%9 = sdy.sharding_constraint %arg1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>\n'
        "%0 = stablehlo.add %arg0, %9",
    )
    assert found_in(text, "SDY003") == ()


def test_a_rule_on_a_custom_call() -> None:
    rule = "sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>"
    assert found_in(BAD["SDY005"].replace("(%arg0) :", f"(%arg0) {{{rule}}} :"), "SDY005") == ()


def test_baseline() -> None:
    found = found_in(BAD["SDY004"], "SDY004")
    text = baseline_text(found)
    assert without_baseline(found, text) == ()
    assert without_baseline((*found, *found), text) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", 'expected {"version": 1, "findings":'),
        ("{", "got invalid JSON: Expecting property name"),
        ('{"version": 9, "findings": []}', "got version 9; write a baseline with"),
        ('{"version": 1, "findings": [1]}', 'expected {"version": 1, "findings":'),
        ('{"version": 1, "findings": [{"fingerprint": ["a"]}]}', "got the fingerprint ['a']; write"),
        ('{"version": 1, "findings": [{"fingerprint": null}]}', "got the fingerprint None; write"),
        ('{"version": [1], "findings": []}', "got version [1]; write"),
        ('{"version": 1, "findings": {"fingerprint": "a"}}', "got other JSON; write"),
    ],
)
def test_invalid_baselines(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, baseline = tmp_path / "m.mlir", tmp_path / "known.json"
    program.write_text(CLEAN)
    baseline.write_text(text)
    assert main([str(program), "--as-written", "--baseline", str(baseline)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("sdy-check: argument --baseline: ")
    assert message in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["--baseline", "bad.json", "--write-baseline", "new.json", "--sarif", "-"],
        ["--baseline", "gone.json", "--write-baseline", "new.json"],
        ["--sarif", "gone/report.sarif", "--write-baseline", "-"],
        ["--sarif", "gone/report.sarif"],
    ],
)
def test_nothing_is_written_after_a_mistake(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(CLEAN)
    Path("bad.json").write_text("[]")
    assert main(["m.mlir", *arguments]) == 2
    assert capsys.readouterr().out == ""
    assert not Path("new.json").exists()


def test_choices() -> None:
    result = propagate(Program.parse(BAD["SDY004"], "m.mlir"))
    assert check(result, Choice(ignored=("SDY004", "SDY006")), SMALL) == ()
    assert check(result, Choice(("SDY004",), levels={"SDY004": "error"}))[0].level == "error"
    with pytest.raises(ShardyError, match="unknown rule 'SDY999'"):
        Choice(selected=("SDY999",))
    with pytest.raises(ShardyError, match="unknown level 'loud': expected one of 'note', 'warning'"):
        Choice(levels={"SDY001": "loud"})  # pyright: ignore


def test_text() -> None:
    found = found_in(BAD["SDY003"], "SDY003")
    assert findings_text(found).startswith("model.py:9:1: warning: @main, stablehlo.add: implicit ")
    assert findings_text(found).endswith("1 warning")
    assert findings_text(()) == "no findings"


def test_sarif() -> None:
    log = findings_sarif(found_in(BAD["SDY003"], "SDY003"))
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "SDY003"
    region = result["locations"][0]["physicalLocation"]
    assert region == {"artifactLocation": {"uri": "model.py"}, "region": {"startLine": 9, "startColumn": 1}}


def _is_sarif(log: dict[str, Any]) -> None:
    """What SARIF 2.1.0 requires (sections 3.13 to 3.49), and GitHub's code scanning beyond that."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    for rule in driver["rules"]:
        assert rule["id"]
        for text in ("shortDescription", "fullDescription", "help"):
            assert rule[text]["text"]
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert all(isinstance(text, str) for text in result["partialFingerprints"].values())
        for location in result["locations"]:
            assert location["physicalLocation"]["artifactLocation"]["uri"]
            region = location["physicalLocation"]["region"]
            assert (region["startLine"], region["startColumn"]) >= (1, 1)
        assert result["locations"]


@pytest.mark.parametrize(("start", "fixed"), [(8, "start it at 7"), (-9, "start it at 0"), (7, ""), (0, "")])
def test_updates_that_xla_loses(start: int, fixed: str) -> None:
    found = found_in(BAD["SDY013"].replace("dense<8>", f"dense<{start}>"), "SDY013", XLA)
    assert [finding.remedy.partition(",")[0] for finding in found] == ([fixed] if fixed else [])
    replicated = BAD["SDY013"].replace('[{}, {"x"}]', "[{}, {}]").replace("dense<8>", f"dense<{start}>")
    assert found_in(replicated, "SDY013", XLA) == ()
    assert found_in(BAD["SDY013"], "SDY013", Limits(1, 1, partitioner="shardy")) == ()


@pytest.mark.parametrize("code", BAD)
def test_sarif_has_what_it_requires(code: str) -> None:
    found = found_in(BAD[code], code, LIMITS.get(code, SMALL))
    log = findings_sarif((*found, Finding(code, "note", "fact", "remedy", "@mesh")), "m.mlir")
    _is_sarif(json.loads(json.dumps(log)))
    without_place = log["runs"][0]["results"][-1]["locations"][0]["physicalLocation"]
    assert without_place["artifactLocation"]["uri"] == "m.mlir"


def test_an_unused_axis_is_at_its_mesh() -> None:
    (finding,) = found_in(BAD["SDY004"], "SDY004")
    assert str(finding.position) == "m.mlir:2:1"


def test_the_page_has_the_reasons() -> None:
    page = (Path(__file__).parents[2] / "docs" / "check.md").read_text()
    for row in RULES:
        assert f"| {row.code} | {row.why}" in page


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "m.mlir"
    program.write_text(BAD["SDY004"])
    known, sarif = tmp_path / "known.json", tmp_path / "log.sarif"
    assert main([str(program)]) == 1
    assert 'axis "idle" of @mesh shards nothing' in capsys.readouterr().out
    assert (
        main([str(program), "--write-baseline", str(known), "--sarif", str(sarif), "--fail-on", "never"]) == 0
    )
    assert json.loads(sarif.read_text())["runs"][0]["results"]
    capsys.readouterr()
    assert main([str(program), "--baseline", str(known), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    assert main([str(program), "--level", "SDY004=note"]) == 0
    assert main(["--rules"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "sdy-check: expected a program, or --rules"),
        (["/nowhere"], "cannot open input file '/nowhere'"),
        (["/nowhere", "--select", "SDY999"], "argument --select: unknown rule 'SDY999'"),
        (["/nowhere", "--ignore", "E1"], "argument --ignore: unknown rule 'E1'"),
        (["/nowhere", "--level", "SDY001=loud"], "argument --level: unknown level 'loud'"),
        (["/nowhere", "--level", "SDY001"], "expected CODE=LEVEL, got 'SDY001'"),
        (["/nowhere", "--reshard-bytes", "1X"], "argument --reshard-bytes: expected bytes such as 64M"),
        (["/nowhere", "--model", "abacus"], "argument --model: unknown cost model 'abacus'"),
        (["/nowhere", "--fail-on", "x"], "argument --fail-on: invalid choice: 'x'"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


MANUAL = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>]
      out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={AXES} (%arg1: tensor<SHAPExf32>) {
    %1 = stablehlo.tanh %arg1 : tensor<SHAPExf32>
    sdy.return %1 : tensor<SHAPExf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


def test_parts_inside_manual_computations_are_not_replicated() -> None:
    whole = MANUAL.replace("AXES", '"x", "y"').replace("SHAPE", "4x4")
    assert found_in(whole, "SDY001") == ()
    assert found_in(whole, "SDY004") == ()


def test_axes_that_only_sums_are_over_are_used() -> None:
    partial = '<@mesh, [{"x"}, {}], unreduced={"y"}>'
    text = CLEAN.replace('["x"=2]', '["x"=2, "y"=2]').replace('<@mesh, [{"x"}, {}]>', partial)
    text = text.replace("  %0 = stablehlo.tanh %arg0 : tensor<8x4xf32>\n", "").replace(
        "return %0", "return %arg0"
    )
    assert found_in(text, "SDY004") == ()
    assert found_in(text.replace('unreduced={"y"}', 'replicated={"y"}'), "SDY004")


def test_reduce_scatters() -> None:
    text = BAD["SDY007"].replace(
        "-> tensor<8xf32> {", '-> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {', 1
    )
    (finding,) = found_in(text, "SDY007", SLOW)
    assert finding.message.startswith("reduce_scatter of 16 B over slow links")


def test_baselines_outlive_edits() -> None:
    before = found_in(BAD["SDY001"], "SDY001")
    edited = (
        BAD["SDY001"]
        .replace(
            "  %0 = stablehlo.tanh %arg1",
            "  %7 = stablehlo.negate %arg0 : tensor<8x4xf32>\n  %0 = stablehlo.tanh %arg1",
        )
        .replace("return %arg0", "return %7")
    )
    after = found_in(edited, "SDY001")
    assert {f.subject for f in before} != {f.subject for f in after}
    assert without_baseline(after, baseline_text(before)) == ()


def test_an_old_baseline_is_not_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, baseline = tmp_path / "m.mlir", tmp_path / "known.json"
    program.write_text(BAD["SDY004"])
    assert main([str(program), "--write-baseline", str(baseline)]) == 0
    first = baseline.read_text()
    assert json.loads(first)["findings"]
    assert main([str(program), "--baseline", str(baseline), "--write-baseline", str(baseline)]) == 0
    assert baseline.read_text() == first
    assert main([str(program), "--json", "--sarif", "-"]) == 2
    assert "standard output can take one of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/m.py", "a%20b/m.py"),
        ("<stdin>", "%3Cstdin%3E"),
        ("/else/where.py", "file:///else/where.py"),
        (str(Path.cwd() / "src" / "m.py"), "src/m.py"),
    ],
)
def test_files_are_uris(file: str, uri: str) -> None:
    finding = Finding("SDY001", "warning", "fact", "remedy", "%0", position=Position(file, 1, 1))
    (result,) = findings_sarif([finding])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_remedies_of_jax_are_tried() -> None:
    text = """
    module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
      sdy.mesh @mesh = <["x"=4, "y"=2]>
      func.func public @main(
          %arg0: tensor<4096x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("x"),
          %arg1: tensor<128x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>} loc("w['up']"),
          %arg2: tensor<512x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>} loc("w['down']"),
          %arg3: tensor<4096x128xf32> loc("table"))
          -> (tensor<4096x128xf32> {jax.result_info = "result[0]"},
              tensor<4096x128xf32> {jax.result_info = "result[1]"}) {
        %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
            : (tensor<4096x128xf32>, tensor<128x512xf32>) -> tensor<4096x512xf32> loc("model.py":3:8 to :13)
        %1 = stablehlo.dot_general %0, %arg2, contracting_dims = [1] x [0]
            : (tensor<4096x512xf32>, tensor<512x128xf32>) -> tensor<4096x128xf32> loc("model.py":4:8 to :13)
        %2 = stablehlo.tanh %arg3 : tensor<4096x128xf32> loc("tanh"("model.py":5:8 to :13))
        return %1, %2 : tensor<4096x128xf32>, tensor<4096x128xf32>
      }
    }"""
    found = check(
        propagate(Program.parse(text)), None, Limits(replicated_bytes=1 << 20, reshard_bytes=1 << 16)
    )
    (gather,) = [each for each in found if each.code == "SDY003"]
    assert gather.remedy.startswith("in_shardings= of w['up']: P(")
    assert " -> " in gather.remedy
    replicated = {each.subject: each.remedy for each in found if each.code == "SDY001"}
    assert (
        '; in_shardings= of table: P("x", None)  (2.10 MB -> 524.29 kB on each device' in replicated["table"]
    )
    assert all("sharding_constraint with" not in remedy for remedy in replicated.values())
