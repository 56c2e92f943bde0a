"""Findings of one line as one, communication that is meant, and the annotations of a GitHub workflow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py.api import Program, Result, ShardyError, propagate
from shardy_py.base.errors import Position
from shardy_py.check import (
    Choice,
    Expectation,
    Finding,
    Findings,
    Limits,
    Met,
    check,
    findings_github,
    findings_in,
    findings_json,
    findings_sarif,
    findings_text,
    grouped,
    without_meant,
)
from shardy_py.cli.check import main

SMALL = Limits(replicated_bytes=1, reshard_bytes=1)
_HEAD = """sdy.mesh @mesh = <["fsdp"=4, "tp"=2]>
func.func @main(%x0: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>},
    WEIGHTS)
    -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}) {
"""


def layers(count: int, names: tuple[str, ...] = ("jvp(layer_{n})", "transpose(jvp(layer_{n}))")) -> str:
    """Sums with other tensors, each of which is resharded; a layer is one sum for each name."""
    body, last, weights = "", "x0", list[str]()
    for n in range(count):
        for number, name in enumerate(names):
            made = f"y{n}_{number}"
            loc = f'loc("jit(f)/{name.format(n=n)}/add"("model.py":36:9))'
            weight = f"%w{n}_{number}"
            weights.append(
                f'{weight}: tensor<8x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"fsdp"}}]>}}'
            )
            body += f"  %{made} = stablehlo.add %{last}, {weight} : tensor<8x64xf32> {loc}\n"
            last = made
    head = _HEAD.replace("WEIGHTS", ", ".join(weights))
    return f"{head}{body}  return %{last} : tensor<8x64xf32>\n}}\n"


def result_of(count: int) -> Result:
    return propagate(Program.parse(layers(count), "m.mlir", as_compiled=False))


def reshards(count: int) -> tuple[Finding, ...]:
    return check(result_of(count), Choice(selected=("SDY003",)), SMALL)


def test_findings_of_a_line_are_one() -> None:
    found = reshards(3)
    (group,) = grouped(found)
    assert group.count == len(found) == 6
    assert group.phases == {"forward": 3, "backward": 3}
    assert group.layers == 3
    assert group.bytes == sum(each.bytes for each in found)
    text = findings_text(found)
    assert text.count("[SDY003]") == 1
    assert "x6 on this line: in 3 layers; 3 forward, 3 backward; " in text
    assert text.endswith("1 warning (6 findings)")


def test_json_and_sarif_have_a_line_once() -> None:
    found = reshards(3)
    (entry,) = findings_json(found)["findings"]
    assert (entry["count"], entry["phases"]) == (6, {"forward": 3, "backward": 3})
    (result,) = findings_sarif(found)["runs"][0]["results"]
    assert result["occurrenceCount"] == 6


def test_lines_of_mlir_stay_apart() -> None:
    text = layers(2).replace('"model.py":36:9', '"model.mlir":36:9')
    found = check(
        propagate(Program.parse(text, "m.mlir", as_compiled=False)), Choice(selected=("SDY003",)), SMALL
    )
    assert len(grouped(found)) == len(found) == 4


def _expecting(expected: tuple[str | Expectation, ...]) -> tuple[Findings, tuple[Met, ...]]:
    result = result_of(3)
    return without_meant(result, findings_in(result, Choice(selected=("SDY003",)), SMALL), expected)


def test_expected_communication_is_counted() -> None:
    left, (met,) = _expecting(("all_to_all:fsdp",))
    assert left == ()
    assert (met.count, met.bytes) == (6, sum(each.bytes for each in reshards(3)))
    assert findings_text(left, (met,)).startswith("expected: 6 all_to_all along fsdp, ")
    left, (met,) = _expecting((Expectation.parse("all_to_all:tp"),))
    assert len(left) == 6
    assert "note: expected all_to_all along tp, but there is none" in findings_text(left, (met,))


@pytest.mark.parametrize(("text", "left"), [("model.py:36", 0), ("model.py:37", 6), ("other.py:36", 6)])
def test_expected_at_a_place(text: str, left: int) -> None:
    found = check(result_of(3), Choice(selected=("SDY003",)), SMALL, expected=[f"all_to_all:fsdp:{text}"])
    assert len(found) == left


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all_to_all", "expected KIND:AXES or KIND:AXES:FILE:LINE"),
        ("all_to_all:fsdp:model.py", "expected KIND:AXES or"),
        ("gather:fsdp", "unknown collective 'gather'"),
        ("all_to_all:fsp", "unknown axis 'fsp'"),
    ],
)
def test_mistaken_expectations(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        check(result_of(1), expected=[text])


def test_github_annotations() -> None:
    place = Position("a,b:c.py", 7, 3)
    finding = Finding("SDY003", "note", "50 % of\r\nit", "change it", "%0", position=place)
    assert findings_github([finding]) == (
        "::notice file=a%2Cb%3Ac.py,line=7,col=3,title=SDY003 implicit-reshard::"
        "%250: 50 %25 of%0D%0Ait%0Achange it\n"
    )
    assert findings_github(()) == ""


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(layers(2))
    flags = ["m.mlir", "--as-written", "--select", "SDY003", "--reshard-bytes", "1"]
    assert main([*flags, "--format", "github"]) == 1
    assert capsys.readouterr().out.startswith("::warning file=model.py,line=36,col=9,title=SDY003 ")
    assert main([*flags, "--expect", "all_to_all:fsdp", "--write-baseline", "known.json"]) == 0
    assert json.loads(Path("known.json").read_text())["expected"] == ["all_to_all:fsdp"]
    assert main([*flags, "--baseline", "known.json"]) == 0
    assert capsys.readouterr().out.startswith("expected: 4 all_to_all along fsdp")
    assert main([*flags, "--expect", "all_to_all:nothing"]) == 2
    assert "argument --expect: unknown axis 'nothing'" in capsys.readouterr().err
    Path("known.json").write_text('{"version": 1, "findings": [], "expected": [1]}')
    assert main([*flags, "--baseline", "known.json"]) == 2
    assert 'argument --baseline: invalid "expected"' in capsys.readouterr().err
