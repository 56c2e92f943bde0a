"""The schemas of docs/schemas/ describe what the commands print: every field, and no other."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardy_py.cli import compare, diff, hlo_indexing, view
from shardy_py.cli.check import main as check
from shardy_py.cli.opt import main
from tests.check.test_verdict import PROGRAM as OF_JAX
from tests.check.test_verdict import SOURCE
from tests.report.compiled.compiled_program import COMPILED

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema (extra: dev) is not installed")
referencing = pytest.importorskip("referencing", reason="referencing comes with jsonschema (extra: dev)")

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schemas"
SCHEMAS: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
REGISTRY: Any = referencing.Registry().with_resources(
    (f"{name}.json", referencing.Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)
PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("a"),
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32> loc("model.py":9:1)
  return %0 : tensor<8x8xf32>
}
"""


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS[name], registry=REGISTRY)


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """A function that runs a command on programs in a folder of their own, and returns its document."""
    monkeypatch.chdir(tmp_path)
    files = {"a.mlir": PROGRAM, "b.mlir": PROGRAM.replace('[{"x"}, {}]', '[{"y"}, {}]'), "m.mlir": OF_JAX}
    files |= {"a.hlo": COMPILED, "b.hlo": COMPILED.replace("f32[8,8]", "bf16[8,8]")}
    for name, text in {**files, "m.py": SOURCE, "bad.mlir": "oops"}.items():
        Path(name).write_text(text)

    def run(command: Callable[[list[str]], int], *arguments: str) -> Any:
        assert command([*arguments]) < 3
        return json.loads(capsys.readouterr().out)

    return run


def assert_described(name: str, document: Any) -> None:
    """The document is valid; it is not once any field of any object is left out or another one is added."""
    check = validator(name)
    check.validate(document)
    kinds = {tuple(n for n in path if isinstance(n, str)): path for path in _objects(document, ())}
    for path in kinds.values():
        changed = copy.deepcopy(document)
        part = changed
        for step in path:
            part = part[step]
        part["not a field"] = object()
        assert not check.is_valid(changed), path


def _objects(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if isinstance(value, dict) and value else []
    return found + [each for key, part in parts for each in _objects(part, (*path, key))]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str, root: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"{name}.json"
    assert f"(schemas/{name}.json)" in (root / "docs" / "ci.md").read_text()


def test_findings_of_one_program(printed: Callable[..., Any]) -> None:
    document = printed(check, "m.mlir", "--json", "--reshard-bytes=1", "--fail-on=never")
    assert document["verdict"]["changes"]
    assert any(finding["savings"] for finding in document["findings"])
    assert_described("check", document)


def test_findings_of_several_programs(printed: Callable[..., Any]) -> None:
    flags = ("--json", "--reshard-bytes=1", "--no-verdict", "--expect=all_gather:y")
    document = printed(check, "a.mlir", "bad.mlir", *flags)
    assert document["programs"][1]["faults"]
    assert_described("check", document)


def test_baselines(printed: Callable[..., Any]) -> None:
    flags = ("--reshard-bytes=1", "--write-baseline", "-", "--expect=all_gather:y")
    for programs in (["a.mlir"], ["a.mlir", "b.mlir"]):
        document = printed(check, *programs, *flags)
        assert document["findings"]
        assert_described("baseline", document)


def test_reports(printed: Callable[..., Any]) -> None:
    flags = ("--sdy-propagation-pipeline", "--json", "--no-progress", "--memory-report=tpu-v5p", "--verdict")
    reports = ("--communication-report", "--target=h100", "--time-report", "--explain=%0", "--why-not=%0,0,y")
    document = printed(main, "a.mlir", *flags, *reports)
    assert {"memory", "verdict", "communication", "time", "explanations", "why_not"} < {*document}
    assert_described("reports", document)
    flags = ("--sdy-insert-explicit-reshards", "--prove", "--time-trace=t.json", "--chakra=traces", "--json")
    document = printed(main, "a.mlir", "--sdy-propagation-pipeline", *flags)
    assert {"proof", "time_trace", "chakra"} < {*document}
    assert_described("reports", document)


@pytest.mark.parametrize(
    ("name", "command", "arguments"),
    [
        ("diff", diff.main, ("a.mlir", "b.mlir", "--propagate", "--json")),
        ("compare", compare.main, ("a.mlir", "a.hlo", "--json")),
        ("versions", compare.main, ("a.hlo", "b.hlo", "--json")),
        ("values", view.main, ("--program", "a.mlir", "--json")),
        ("indexing", hlo_indexing.main, ("a.mlir", "--json")),
    ],
)
def test_other_commands(
    name: str, command: Callable[[list[str]], int], arguments: tuple[str, ...], printed: Callable[..., Any]
) -> None:
    document = printed(command, *arguments)
    assert document
    assert_described(name, document)
