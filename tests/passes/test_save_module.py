"""Files for debugging: their names, what is in them, and that writing them changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.base.errors import collected_warnings
from shardy_py.cli.pass_text import build_step
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes.options import SaveModuleOptions
from shardy_py.passes.propagate.propagating import save_module
from shardy_py.passes.runner import run_passes

PROGRAM = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}p0, {"b"}p2]>})
    -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<8x8xf32>
  %1 = stablehlo.abs %0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


def run(name: str, options: str) -> str:
    module = parse_module(PROGRAM)
    run_passes(module, build_step(name, options).calls, verify="never")
    return print_module(module)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_stages_are_numbered(tmp_path: Path) -> None:
    assert run("sdy-propagation-pipeline", f"dump-directory={tmp_path}") == run(
        "sdy-propagation-pipeline", ""
    )
    assert names(tmp_path) == [
        "01.before_propagation.mlir",
        "02.after_propagation.mlir",
        "02.propagation_after_user_priority_0.mlir",
        "03.after_minimal_partitioner_with_global_shapes.mlir",
    ]
    assert (
        (tmp_path / "03.after_minimal_partitioner_with_global_shapes.mlir").read_text().startswith("module {")
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", ["00.after_propagation.mlir", "01.after_minimal_partitioner_with_global_shapes.mlir"]),
        ("avoid-export-for-partitioning", ["00.after_propagation.mlir"]),
        (
            "enable-insert-explicit-collectives remove-all-gather-reduce-scatter-for-cmv1",
            [
                "00.after_propagation.mlir",
                "01.after_explicit_reshards.mlir",
                "02.after_partitioner_with_global_shapes.mlir",
            ],
        ),
    ],
)
def test_export_counts_from_zero(options: str, expected: list[str], tmp_path: Path) -> None:
    run("sdy-export-pipeline", f"dump-directory={tmp_path} {options}")
    assert names(tmp_path) == expected


def test_a_user_priority_shows_what_is_held_back(tmp_path: Path) -> None:
    for keep in ("true", "false"):
        options = f"keep-sharding-rules={keep}"
        dumped = run(
            "sdy-user-priority-propagate", f"module-dump-directory={tmp_path} {options} dump-index=7"
        )
        assert dumped == run("sdy-user-priority-propagate", options)
    assert names(tmp_path) == ["07.propagation_after_user_priority_0.mlir"]
    text = (tmp_path / "07.propagation_after_user_priority_0.mlir").read_text()
    assert (
        '%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}], replicated={"b"}>}' in text
    )
    assert '[<@mesh, [{"a", ?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<' in text
    assert "stablehlo.abs" not in text


def test_a_name_needs_no_number(tmp_path: Path) -> None:
    run("sdy-save-module", f"dump-directory={tmp_path} file-name=mine")
    run("sdy-save-module", f"dump-directory={tmp_path} dump-index=12")
    assert names(tmp_path) == ["12.module.mlir", "mine.mlir"]
    run("sdy-save-module", "file-name=mine")


def test_a_file_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    with collected_warnings() as warnings:
        save_module(parse_module(PROGRAM), SaveModuleOptions(str(tmp_path / "missing"), "x", 3))
    (warning,) = warnings
    path = tmp_path / "missing" / "03.x.mlir"
    assert warning.message == f"error when writing file {path}: No such file or directory"


def test_links_with_the_name_of_a_dump_are_replaced_not_followed(tmp_path: Path) -> None:
    target, link, folder = tmp_path / "target", tmp_path / "dumps" / "03.x.mlir", tmp_path / "dumps"
    folder.mkdir()
    target.write_text("mine")
    link.symlink_to(target)
    save_module(parse_module(PROGRAM), SaveModuleOptions(str(folder), "x", 3))
    assert (target.read_text(), link.is_symlink()) == ("mine", False)
    assert link.read_text().startswith("module {")
    assert names(folder) == ["03.x.mlir"]


def test_a_name_that_no_file_can_have_is_a_warning(tmp_path: Path) -> None:
    with collected_warnings() as warnings:
        save_module(parse_module(PROGRAM), SaveModuleOptions(str(tmp_path), "a\0b", 3))
    assert warnings[0].message.startswith("error when writing file ")
    assert names(tmp_path) == []
