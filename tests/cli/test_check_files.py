"""`sdy-check` on several programs: which they are, their settings, reports, baselines, processes, colours."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shardy_py.cli.check import main

IDLE = """
sdy.mesh @mesh = <["x"=2, "idle"=4]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.tanh %arg0 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""
CLEAN = IDLE.replace(', "idle"=4', "")
HLO = "HloModule f\nENTRY m { ROOT p = f32[4] parameter(0) }"
FILES = {
    "models/a.mlir": IDLE,
    "models/deep/b.mlir": CLEAN,
    "models/deep/notes.txt": "no program",
    "models/.cache/c.mlir": "oops",
    "models/env/pyvenv.cfg": "",
    "models/env/d.mlir": "oops",
    "dump/module_0001.jit_f.before_optimizations.txt": HLO,
    "dump/module_0001.jit_f.after_optimizations.txt": HLO,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def write_settings(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.sdy-check]\n{text}\n")


def programs(*arguments: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    main([*arguments, "--no-verdict", "--json", "--fail-on=never", "--no-progress"])
    return [each["program"] for each in json.loads(capsys.readouterr().out)["programs"]]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["models"], ["models/a.mlir", "models/deep/b.mlir"]),
        (["models/**/*.mlir"], ["models/a.mlir", "models/deep/b.mlir", "models/env/d.mlir"]),
        (["models/deep/b.mlir", "models"], ["models/deep/b.mlir", "models/a.mlir"]),
        (["mod*"], ["models/a.mlir", "models/deep/b.mlir"]),
        (["models/deep"], ["models/deep/b.mlir"]),
        (["models/deep", "dump"], ["models/deep/b.mlir", "dump/module_0001.jit_f.before_optimizations.txt"]),
        (
            ["."],
            ["dump/module_0001.jit_f.before_optimizations.txt", "./models/a.mlir", "./models/deep/b.mlir"],
        ),
    ],
)
def test_folders_and_patterns_are_programs(
    names: list[str], found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [name.removeprefix("./") for name in programs(*names, capsys=capsys)] == [
        name.removeprefix("./") for name in found
    ]


def test_a_dump_is_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--no-verdict", "--select=SDY004"]) == 0
    assert capsys.readouterr().out == "no findings\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [("*.hlo", "*.hlo: error: expected a file that matches, got none"), ("models/.cache/e", "No such file")],
)
def test_nothing_found_is_an_error(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "models"]) == 2
    assert message in capsys.readouterr().err


def test_each_program_has_its_findings_and_all_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    Path("models/z.mlir").write_text("oops")
    assert main(["models", "--no-verdict"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("models/a.mlir:\nmodels/a.mlir:2:1: warning: @mesh: axis")
    assert "\n\nmodels/deep/b.mlir:\nno findings\n\nmodels/z.mlir: could not be checked\n\n" in out
    assert out.endswith("\n3 programs: 1 warning; 1 could not be checked\n")
    assert "models/z.mlir:1:1: error: custom op 'oops' is unknown" in err
    Path("models/z.mlir").unlink()
    assert main(["models", "--no-verdict"]) == 1
    assert main(["models/deep", "models/deep/b.mlir"]) == 0


def test_processes_answer_as_one_does(capsys: pytest.CaptureFixture[str]) -> None:
    Path("models/z.mlir").write_text("oops")
    answers = []
    for workers in "12":
        assert main(["models", "--no-verdict", "--workers", workers]) == 2
        answers.append(capsys.readouterr())
    assert answers[0] == answers[1]


def test_other_formats_name_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    Path("models/z.mlir").write_text("oops")
    main(["models", "--format", "csv"])
    assert capsys.readouterr().out.splitlines()[1].startswith("models/a.mlir,SDY004,warning,")
    main(["models", "--format", "github"])
    assert (
        capsys.readouterr().out.splitlines()[1].startswith("::error file=models/z.mlir,line=1,title=invalid")
    )
    main(["models", "--sarif", "-", "--no-verdict"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [each["program"] for each in run["properties"]["programs"]] == [
        *("models/a.mlir", "models/deep/b.mlir", "models/z.mlir")
    ]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert "custom op 'oops'" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    main(["models", "--json", "--no-verdict"])
    (fault,) = json.loads(capsys.readouterr().out)["programs"][2]["faults"]
    assert (fault["file"], fault["line"], fault["column"]) == ("models/z.mlir", 1, 1)


def test_junit_has_a_test_for_each_rule(capsys: pytest.CaptureFixture[str]) -> None:
    Path("models/a\x1b.mlir").write_text("oops \x00 <&>\"'")
    flags = ["--format", "junit", "--select", "SDY004,SDY001", "--no-progress"]
    assert main(["models", *flags]) == 2
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert root.attrib == {"name": "sdy-check", "tests": "5", "failures": "1", "errors": "1"}
    first, failed, passed = root
    assert first.find("testcase/error") is not None
    assert [case.get("name") for case in failed] == ["SDY001 replicated-tensor", "SDY004 unused-mesh-axis"]
    (failure,) = failed.findall("testcase/failure")
    assert str(failure.text).startswith("models/a.mlir:2:1: warning: @mesh: axis")
    assert [*passed.iter("failure")] == []
    assert main(["models/a.mlir", *flags, "--fail-on=error"]) == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert root.get("failures") == "0"
    assert len([*root.iter("system-out")]) == 1


def test_settings_are_those_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    write_settings('files = ["models"]\nverdict = false\nignore = ["SDY004"]')
    assert main([]) == 0
    assert capsys.readouterr().out.endswith("2 programs: no findings\n")
    assert main(["models/a.mlir", "--ignore", "SDY001"]) == 1  # a flag takes precedence
    assert main(["models/a.mlir", "--isolated", "--no-verdict"]) == 1
    Path("models/pyproject.toml").write_text(
        '[tool.sdy-check]\nlevel = { SDY004 = "note" }\nverdict = false\n'
    )
    capsys.readouterr()
    assert main(["models/a.mlir"]) == 0
    assert "note: @mesh: axis" in capsys.readouterr().out
    assert main(["models/a.mlir", "--level", "SDY004=error", "--fail-on", "error"]) == 1
    assert main(["models/a.mlir", "--config", "pyproject.toml"]) == 0


def test_settings_exclude_what_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    write_settings('exclude = ["a.mlir"]')
    assert programs("models", capsys=capsys) == ["models/deep/b.mlir"]
    assert programs("models", "models/a.mlir", capsys=capsys) == ["models/deep/b.mlir", "models/a.mlir"]
    assert programs("models", "models/a.mlir", "--force-exclude", capsys=capsys) == ["models/deep/b.mlir"]
    assert main(["models/a.mlir", "--force-exclude"]) == 0


def test_invalid_settings_are_shown_at_their_place(capsys: pytest.CaptureFixture[str]) -> None:
    write_settings('select = ["SDY9"]')
    assert main(["models/a.mlir"]) == 2
    err = capsys.readouterr().err
    assert "pyproject.toml:2:12: error: [tool.sdy-check] select: unknown rule 'SDY9'" in err
    assert err.endswith('\nselect = ["SDY9"]\n           ^\n')
    assert main(["--config", "models/a.mlir", "models/a.mlir"]) == 2
    assert "models/a.mlir: error: expected a section [tool.sdy-check], got none" in capsys.readouterr().err
    assert main(["--config", "x", "--isolated", "models/a.mlir"]) == 2


def test_expectations_of_a_project_may_name_axes_of_other_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_settings('expect = ["all_gather:data"]\nverdict = false')
    assert main(["models/deep/b.mlir"]) == 0
    assert "note: expected all_gather along data, but there is none" in capsys.readouterr().out
    assert main(["models", "--fail-on=never"]) == 0
    assert capsys.readouterr().out.count("expected all_gather along data") == 1


def test_a_baseline_names_programs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("models/deep/b.mlir").write_text(IDLE)
    flags = ["--no-verdict", "--no-progress"]
    assert main(["models", "--write-baseline", "known.json", *flags]) == 0
    known = json.loads(Path("known.json").read_text())["findings"]
    assert [entry["program"] for entry in known] == ["models/a.mlir", "models/deep/b.mlir"]
    assert main(["models", "--baseline", "known.json", *flags]) == 0
    assert main(["models/a.mlir", "--baseline", "known.json", *flags]) == 0
    # What moves from one program to another is new.
    Path("models/a.mlir").write_text(CLEAN)
    Path("models/new.mlir").write_text(IDLE)
    capsys.readouterr()
    assert main(["models", "--baseline", "known.json", *flags]) == 1
    assert "known.json: remark: known findings that are gone: 1; --fix-baseline" in capsys.readouterr().err
    assert main(["models/a.mlir", "--baseline", "known.json", "--fix-baseline", *flags]) == 0
    known = json.loads(Path("known.json").read_text())["findings"]
    assert [entry["program"] for entry in known] == ["models/deep/b.mlir"]  # which was not checked
    assert (
        main(["models", "--baseline", "known.json", "--fix-baseline", *flags]) == 1
    )  # new ones are not added
    assert len(json.loads(Path("known.json").read_text())["findings"]) == 1


def test_a_baseline_is_not_fixed_by_programs_that_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--write-baseline", "known.json", "--no-verdict"]) == 0
    before = Path("known.json").read_text()
    Path("models/a.mlir").write_text("oops")
    assert main(["models", "--baseline", "known.json", "--fix-baseline", "--no-verdict"]) == 2
    assert Path("known.json").read_text() == before
    assert main(["models", "--fix-baseline"]) == 2
    assert "--fix-baseline requires --baseline" in capsys.readouterr().err


def test_settings_name_a_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    write_settings('baseline = "known.json"\nverdict = false')
    assert main(["models/a.mlir"]) == 2
    assert "known.json" in capsys.readouterr().err
    assert main(["models/a.mlir", "--write-baseline", "known.json"]) == 0
    assert main(["models/a.mlir"]) == 0
    Path("known.json").write_text("[]")
    assert main(["models/a.mlir"]) == 2
    assert "known.json: error: invalid baseline: expected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "environment", "is_colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color=always"], {"NO_COLOR": "1"}, True),
        (["--color=never"], {"FORCE_COLOR": "1"}, False),
        (["--json"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colors(
    flags: list[str],
    environment: dict[str, str],
    is_colored: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Path("models/a.mlir").write_text(IDLE.replace('"idle"', '"idle\\1B[31m"'))
    main(["models/a.mlir", "--no-verdict", *flags])
    out = capsys.readouterr().out
    assert ("\x1b[1;33mwarning:\x1b[0m" in out) == is_colored
    assert "\x1b[31m" not in out  # of the program
