"""Passes that changed between releases of the reference: modules with what both print.

The programs are those of ../shared/jax_0_12, each with its flags in the first line.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from shardy_py.base import releases
from shardy_py.cli.opt import main
from tests.conftest import CORPUS

FOLDER = CORPUS.parent / "jax_0_12"
VERSIONS = {"v010": "0.10", "v012": "0.12"}
SAME = ("asc_", "canon_", "df_", "ifcr_", "pfr_", "pipe_", "r2c_", "red_", "sd_")
"""The beginnings of names of programs that both releases print as here."""


def _lines(text: str) -> list[str]:
    program = text.partition("\n// diagnostic")[0]
    return [line for line in program.splitlines() if line and not line.startswith("//")]


PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.mlir") if path.stem.startswith(SAME))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.skipif(not PROGRAMS, reason="../shared/jax_0_12 is not beside the checkout")
def test_each_release_prints_what_it_printed(version: str, tmp_path: Path) -> None:
    different: list[str] = []
    for name in PROGRAMS:
        path, output = FOLDER / f"{name}.mlir", tmp_path / "out.mlir"
        expected = (FOLDER / f"{name}.{version}.out").read_text()
        if expected.startswith(("// crash", "// err")):
            continue
        words = shlex.split(path.read_text().splitlines()[0].partition("sdy-opt")[2])
        flags = [f"-{word}" if word.startswith("-") else word for word in words]
        with releases.of(VERSIONS[version]):
            assert main([str(path), *flags, "-o", str(output)]) == 0
        if _lines(output.read_text()) != _lines(expected):
            different.append(name)
    assert different == []


OPEN = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"a"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.mark.parametrize(("release", "shown"), [("0.10", "[{?}]>}) ->"), ("0.12", '[{"a"}]>}) ->')])
def test_an_open_input_takes_a_constraint(release: str, shown: str, tmp_path: Path) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(OPEN)
    with releases.of(release):
        assert main([str(source), "--sdy-apply-sharding-constraints", "-o", str(output)]) == 0
    assert shown in output.read_text()


ON_ONE_DEVICE = """sdy.mesh @mesh = <["a"=2]>
sdy.mesh @device = <[], device_ids=[0]>
func.func @main(%x: tensor<8xf32>{argument}) -> (tensor<8xf32>{result}) {{
  return %x : tensor<8xf32>
}}
"""
DEVICE = " {sdy.sharding = #sdy.sharding<@device, []>}"


@pytest.mark.parametrize("place", ["argument", "result"])
@pytest.mark.parametrize("flag", ["--sdy-insert-explicit-reshards", "--sdy-propagation-pipeline"])
def test_functions_take_and_return_what_is_on_all_devices(
    place: str, flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(ON_ONE_DEVICE.format(**{"argument": "", "result": "", place: DEVICE}))
    with releases.of("0.12"):
        assert main([str(source), flag, "-o", str(output)]) == 1
    fact = f"'func.func' op function {place} 0 cannot have a single-device sharding attribute"
    assert f"in.mlir:3:1: error: {fact}" in capsys.readouterr().err
    for older in ("0.10", "shardy-2026-08-22"):
        with releases.of(older):
            assert main([str(source), flag, "-o", str(output)]) == 0
    with releases.of("shardy-2026-08-22"):
        assert main([str(source), "--sdy-insert-explicit-reshards=enable-full-version=true"]) == 1
    assert fact.replace("device sharding", "device (maximal) sharding") in capsys.readouterr().err


SUB_AXES = """sdy.mesh @mesh = <["a"=4]>
func.func @main(%x: tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<8xi32>) {
  %0 = sdy.reshard %x <@mesh, [{"a":(1)2}, {"a":(2)2}]> : tensor<2x4xi32>
  %1 = stablehlo.reshape %x : (tensor<2x4xi32>) -> tensor<8xi32>
  %2 = sdy.reshard %1 <@mesh, [{"a"}]> : tensor<8xi32>
  return %0, %2 : tensor<2x4xi32>, tensor<8xi32>
}
"""


@pytest.mark.parametrize(("release", "reshards"), [("0.10", 2), ("shardy-2026-08-22", 1), ("0.12", 1)])
def test_reshards_in_another_shape_are_reused(release: str, reshards: int, tmp_path: Path) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(SUB_AXES)
    assert main([str(source), f"--jax={release}", "--canonicalize", "-o", str(output)]) == 0
    assert output.read_text().count("sdy.reshard") == reshards


DROPPED = """sdy.mesh @mesh = <["a"=2]>
func.func @main(
  %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>}
) -> tensor<8xf32> {
  %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def test_unreduced_axes_are_verified_in_the_pipeline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(DROPPED)
    with releases.of("0.10"):
        assert main([str(source), "--sdy-propagation-pipeline", "-o", str(output)]) == 0
    assert 'sdy.all_reduce {"a"}' in output.read_text()
    for newer in ("shardy-2026-08-22", "0.12"):
        with releases.of(newer):
            assert main([str(source), "--sdy-propagation-pipeline", "-o", str(output)]) == 1
        assert "'stablehlo.negate' op dropped unreduced axis 'a'" in capsys.readouterr().err


RESHAPE = """sdy.mesh @mesh = <["a"=3]>
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<256xf32> {
  %0 = stablehlo.reshape %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>}
    : (tensor<16x16xf32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>
}
"""


@pytest.mark.parametrize(("release", "count"), [("0.10", 3), ("0.12", 1)])
def test_a_reshape_of_equal_parts_is_kept(release: str, count: int, tmp_path: Path) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(RESHAPE)
    with releases.of(release):
        flag = "--sdy-insert-explicit-reshards=enable-full-version=true"
        assert main([str(source), flag, "-o", str(output)]) == 0
    assert output.read_text().count("sdy.reshard ") == count


BARRIER = """sdy.mesh @mesh = <["a"=3, "d"=3]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<24x2xf32> {
  %0 = sdy.propagation_barrier %x allowed_direction=BACKWARD : tensor<8x6xf32>
  %1 = stablehlo.reshape %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"d"}, {}]>]>}
    : (tensor<8x6xf32>) -> tensor<24x2xf32>
  return %1 : tensor<24x2xf32>
}
"""


@pytest.mark.parametrize("release", ["0.10", "0.12"])
def test_a_reshape_takes_what_a_barrier_returns_for_unsharded(release: str, tmp_path: Path) -> None:
    """Where axes do not fit its factors; other ops look through the barrier."""
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(BARRIER)
    with releases.of(release):
        flag = "--sdy-insert-explicit-reshards=enable-full-version=true"
        assert main([str(source), flag, "-o", str(output)]) == 0
    assert "stablehlo.reshape %0 " in output.read_text()


CALLED = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = call @f(%x) {sharding}: (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}
func.func private @f(%x: tensor<8xf32>)
    -> (tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}], unreduced={{"a"}}>}}) {{
  return %x : tensor<8xf32>
}}
"""
CLOSED = "{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} "


@pytest.mark.parametrize("sharding", ["", CLOSED], ids=["none", "closed"])
@pytest.mark.parametrize(
    ("release", "is_kept", "count"),
    [("0.10", False, 0), ("shardy-2026-08-22", False, 1), ("0.11", False, 1), ("0.12", True, 0)],
)
def test_calls_whose_results_differ_in_unreduced_axes(
    release: str, is_kept: bool, count: int, sharding: str, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(CALLED.format(sharding=sharding))
    assert main([str(source), f"--jax={release}", "--sdy-insert-func-call-reshards", "-o", str(output)]) == 0
    main_text = output.read_text().partition("func.func private")[0]
    assert main_text.count("sdy.reshard %0 <@mesh, [{}]>") == count
    assert ("unreduced" not in main_text) == is_kept


COMBINED = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8x8xi32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"a"}}]>}})
    -> ({types}) {{
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0{number} = {reduce}
  return {values} : {types}
}}
"""
SINGLE_AND = {
    "number": "",
    "reduce": "stablehlo.reduce(%x init: %c) applies stablehlo.and across dimensions = [1] "
    ": (tensor<8x8xi32>, tensor<i32>) -> tensor<8xi32>",
    "values": "%0",
    "types": "tensor<8xi32>",
}
MIXED = {
    "number": ":2",
    "reduce": """stablehlo.reduce(%x init: %c), (%x init: %c) across dimensions = [1]
    : (tensor<8x8xi32>, tensor<8x8xi32>, tensor<i32>, tensor<i32>) -> (tensor<8xi32>, tensor<8xi32>)
    reducer(%a: tensor<i32>, %b: tensor<i32>) (%d: tensor<i32>, %e: tensor<i32>) {
      %1 = stablehlo.add %a, %b : tensor<i32>
      %2 = stablehlo.maximum %d, %e : tensor<i32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
    }""",
    "values": "%0#0, %0#1",
    "types": "tensor<8xi32>, tensor<8xi32>",
}


@pytest.mark.parametrize(
    ("release", "body", "sums", "marks"),
    [
        *(("0.11", SINGLE_AND, 1, 0), ("0.12", SINGLE_AND, 1, 1)),
        *(("0.10", MIXED, 2, 0), ("0.11", MIXED, 2, 0), ("0.12", MIXED, 0, 0)),
    ],
)
def test_values_that_are_not_combined_by_one_operator(
    release: str, body: dict[str, str], sums: int, marks: int, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(COMBINED.format(**body))
    flag = (
        "--sdy-insert-explicit-reshards=enable-full-version=true mark-partial-result-with-unreduced-axes=true"
    )
    assert main([str(source), f"--jax={release}", flag, "-o", str(output)]) == 0
    text = output.read_text()
    assert text.count('sdy.all_reduce {"a"}') == sums
    assert text.count("unreduced=") == marks


TWO_MAXIMA = COMBINED.format(
    number=":2",
    reduce=MIXED["reduce"].replace("stablehlo.add", "stablehlo.maximum"),
    values="%0#0, %0#1",
    types=MIXED["types"],
)


def test_results_without_shardings_are_open_once_the_first_is_marked(tmp_path: Path) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(TWO_MAXIMA)
    flag = (
        "--sdy-insert-explicit-reshards=enable-full-version=true mark-partial-result-with-unreduced-axes=true"
    )
    assert main([str(source), flag, "-o", str(output)]) == 0
    text = output.read_text()
    assert '<@mesh, [{}], unreduced=max{"a"}>, <@mesh, [{?}], unreduced=max{"a"}>' in text
    assert text.count("out_sharding=<@mesh, [{?}]>") == 1


SCATTERED = """sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}], unreduced={"a"}>},
    %b: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}], unreduced={"a"}>}) {
  %0 = sdy.all_reduce {"a"} %a out_sharding=<@mesh, [{}, {"b"}]> : tensor<4x3xf32>
  %1 = sdy.all_slice [{"a"}, {}] %0 out_sharding=<@mesh, [{"a"}, {"b"}]> : tensor<4x3xf32>
  %2 = sdy.all_reduce {"a"} %b out_sharding=<@mesh, [{"b"}]> : tensor<6xf32>
  %3 = sdy.all_slice [{"a"}] %2 out_sharding=<@mesh, [{"b", "a"}]> : tensor<6xf32>
  return
}
"""


@pytest.mark.parametrize(("release", "scattered"), [("0.10", 2), ("0.11", 1), ("0.12", 2)])
def test_sums_of_uneven_parts_are_scattered(release: str, scattered: int, tmp_path: Path) -> None:
    """In JAX 0.11 dimensions that the sum is scattered along have equal parts."""
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(SCATTERED)
    assert main([str(source), f"--jax={release}", "--canonicalize", "-o", str(output)]) == 0
    assert output.read_text().count("sdy.reduce_scatter") == scattered
