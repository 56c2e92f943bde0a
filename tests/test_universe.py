"""The entry point `xdsl.universe`: our passes among those of xDSL, by name, with options."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.passes import PassPipeline, get_pass_option_infos
from xdsl.transforms import get_all_passes
from xdsl.universe import XDSL_UNIVERSE
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import PassFailedException

from shardy_py.base.errors import collected_warnings
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import PASSES, PassRow
from shardy_py.passes.options import Option
from shardy_py.passes.pipelines import PIPELINES, PipelineRow, propagation_passes
from shardy_py.passes.runner import run_passes
from shardy_py.universe import SHARDY

PROGRAM = """\
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8x8xf32>
  %1 = stablehlo.multiply %0, %a : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""
MIXED = (
    "sdy-lift-inlined-meshes,canonicalize,sdy-basic-propagate{conservative-propagation=true},"
    "sdy-close-shardings"
)


def run(spec: str, text: str) -> str:
    """The program after a pipeline in xDSL's notation."""
    module = parse_module(text)
    passes = {**get_all_passes(), **SHARDY.all_passes}
    PassPipeline.parse_spec(passes, spec).apply(Context(), module)
    return print_module(module)


def test_names_clash_with_none_of_xdsl() -> None:
    assert not SHARDY.all_passes.keys() & XDSL_UNIVERSE.all_passes.keys()
    assert not SHARDY.all_dialects.keys() & XDSL_UNIVERSE.all_dialects.keys()
    assert {row.name for row in PASSES} - SHARDY.all_passes.keys() == {"canonicalize"}


def changed(option: Option) -> tuple[str, object]:
    """A value other than the default, as text and as Python has it."""
    match option.default:
        case bool():
            return str(not option.default).lower(), not option.default
        case int():
            return "7", 7
        case str():
            word = option.choices[0] if option.choices else "a b"
            return f'"{word}"', word
        case tuple():
            return '"a","b"', ("a", "b")


@pytest.mark.parametrize("row", [*PASSES, *PIPELINES], ids=lambda row: row.name)
def test_options_are_read(row: PassRow | PipelineRow) -> None:
    if row.name not in SHARDY.all_passes:
        pytest.skip("xDSL has a pass of this name")
    made = SHARDY.all_passes[row.name]()
    assert made.name == row.name
    assert {info.name for info in get_pass_option_infos(made)} == {o.field_name for o in row.options}
    spec = f"{row.name}{{{' '.join(f'{option.name}={changed(option)[0]}' for option in row.options)}}}"
    read = made.from_spec(next(iter(parse_pipeline(spec))))
    assert vars(read) == {option.field_name: changed(option)[1] for option in row.options}


def test_the_pipeline_decides_as_sdy_opt_does(corpus: Callable[[str], str]) -> None:
    text = corpus("mlp_train")
    expected = print_module(run_passes(parse_module(text), propagation_passes()))
    assert run("sdy-propagation-pipeline", text) == expected


def test_passes_mix_with_those_of_xdsl() -> None:
    sharding = '{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}'
    assert f"stablehlo.add %arg0, %arg0 {sharding}" in run(MIXED, PROGRAM)


def test_errors_are_those_of_xdsls_passes() -> None:
    text = PROGRAM.replace('[{"x"}, {}]', '[{"x"}, {}], unreduced={"y"}').replace('["x"=2]', '["x"=2, "y"=2]')
    with pytest.raises(PassFailedException, match="unreduced"):
        run("sdy-verify-unreduced-axes", text)


@pytest.fixture
def command() -> Path:
    """A stock `xdsl-opt` that finds the package."""
    command = Path(sys.executable).with_name("xdsl-opt")
    if not entry_points(group="xdsl.universe", name="shardy-py") or not command.exists():
        pytest.skip("the package is not installed with its entry point `xdsl.universe`")
    return command


WARNS = PROGRAM.replace(
    "stablehlo.multiply %0, %a : tensor<8x8xf32>",
    "stablehlo.custom_call @strange(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>",
)
FAILS = """\
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
    -> tensor<8xf32> {
  %0 = stablehlo.negate %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def test_a_stock_xdsl_opt(command: Path, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    done = subprocess.run([command, path, "-p", MIXED], capture_output=True, text=True, check=True)
    assert print_module(parse_module(done.stdout)) == run(MIXED, PROGRAM)
    path.write_text('%0 = "stablehlo.iota"() <{iota_dimension = 3 : i64}> : () -> tensor<8xf32>')
    done = subprocess.run([command, path], capture_output=True, text=True)
    assert done.returncode
    assert "iota dimension cannot go beyond the output rank" in done.stderr


def test_a_stock_xdsl_opt_prints_warnings_with_their_places(command: Path, tmp_path: Path) -> None:
    (path := tmp_path / "program.mlir").write_text(WARNS)
    done = subprocess.run(
        [command, path, "-p", "sdy-propagation-pipeline"], capture_output=True, text=True, check=True
    )
    assert done.stderr == (
        f"{path}:4:8: warning: custom call @strange is unknown to SDY sharding rule registry\n"
        f"{WARNS.splitlines()[3]}\n       ^\n"
    )
    assert "custom_call @strange" in done.stdout
    (path := tmp_path / "several.mlir").write_text(f"{PROGRAM}// -----\n{WARNS}")
    several = [command, path, "--split-input-file", "-p", "sdy-propagation-pipeline"]
    done = subprocess.run(several, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[1:] == []  # no line of another part


def test_a_stock_xdsl_opt_reports_errors_as_those_of_xdsls_passes(command: Path, tmp_path: Path) -> None:
    (path := tmp_path / "program.mlir").write_text(FAILS)
    arguments = [command, path, "-p", "sdy-verify-unreduced-axes"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 1
    error = f"{path}:4:8: error: 'stablehlo.negate' op dropped unreduced axis 'x' without a blessed operation"
    assert f"PassFailedException: {error}" in done.stderr
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.endswith(f"{FAILS.splitlines()[3]}\n       ^\n")
    done = subprocess.run([*arguments, "--verify-diagnostics"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(error)


def test_warnings_go_to_a_collector_if_there_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    with collected_warnings() as warnings:
        run("sdy-propagation-pipeline", WARNS)
    assert [warning.where and warning.where.line for warning in warnings] == [4]
    assert capsys.readouterr().err == ""
    run("sdy-propagation-pipeline", WARNS)
    assert capsys.readouterr().err.startswith("-:4:8: warning: custom call @strange is unknown")
