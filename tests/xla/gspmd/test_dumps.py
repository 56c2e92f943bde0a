"""JAX programs lowered for GSPMD and as HLO, imported to sdy, beside the programs that JAX lowers to sdy."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from shardy_py.api.pipeline import decide_shardings
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.passes import pass_call, pipelines
from shardy_py.passes.options import ImportShardingsOptions
from shardy_py.passes.runner import run_passes
from tests.with_jax import run_with_jax
from tests.xla.gspmd.dumped_programs import SEPARATOR
from tests.xla.gspmd.partitioned_programs import COUNT

PROGRAMS = range(4)
AXES = ("x=4", "y=2")


@cache
def dumped(form: str) -> tuple[str, ...]:
    """The programs in a form; skips without JAX."""
    pytest.importorskip("jax", reason="needs jax")
    run = run_with_jax(["-m", "tests.xla.gspmd.dumped_programs", form])
    assert run.returncode == 0, run.stderr.decode()
    return tuple(run.stdout.decode().split(SEPARATOR))


def converted(text: str, calls: pipelines.Calls) -> str:
    """The program after the passes, verified."""
    module = parse_module(text)
    verify_module(module)
    return print_module(run_passes(module, calls))


_GROUPS = r"replica_groups = (dense<.*?> : tensor<\w+>|#stablehlo\.replica_group_mesh_axes<.*\]>)(?=,|\})"


def comparable(text: str) -> list[str]:
    """Functions and meshes, sorted, without names of results, empty configurations, copies of meshes, groups.

    Which may name a mesh that nothing else does, since JAX 0.12 not if it lowers for GSPMD.
    """
    text = re.sub(r" \{stablehlo\.mesh = \{.*\}\}$", "", text, flags=re.MULTILINE)
    text = re.sub(r'jax\.result_info = "[^"]*"(, )?', "", text)
    text = re.sub(_GROUPS, "replica_groups = []", text)
    text = re.sub(r" ?\{\}(?=[,)])", "", text).replace('backend_config = "", ', "")
    text = re.sub(r"-> \((tensor<\w+>)\) \{$", r"-> \1 {", text, flags=re.MULTILINE)
    head, *functions = map(str.strip, text.removesuffix("}\n").split("\n  func.func "))
    lines = (line for line in head.split("\n") if not _is_unused_mesh(line, text))
    return sorted(lines) + sorted(functions)


def _is_unused_mesh(line: str, text: str) -> bool:
    name = re.match(r" *sdy\.mesh (@\w+) ", line)
    return name is not None and len(re.findall(rf"{name[1]}\b", text)) == 1


@pytest.mark.parametrize("index", PROGRAMS)
def test_import_from_gspmd_equals_the_sdy_of_jax(index: int) -> None:
    ours = converted(
        dumped("gspmd")[index], pipelines.stablehlo_import_passes(ImportShardingsOptions(mesh_axes=AXES))
    )
    theirs = converted(dumped("sdy")[index], ())
    assert comparable(ours) == comparable(theirs)


@pytest.mark.parametrize("index", PROGRAMS)
def test_export_for_gspmd_equals_the_lowering_of_jax(index: int) -> None:
    ours = converted(dumped("sdy")[index], pipelines.stablehlo_export_passes())
    theirs = converted(dumped("gspmd")[index], ())
    assert comparable(ours) == comparable(theirs)


@pytest.mark.parametrize("index", PROGRAMS)
def test_inlined_bodies_are_imported(index: int) -> None:
    """Calls are inlined before the import as in XLA or after it; independent values become several calls."""
    read = pipelines.stablehlo_import_passes(ImportShardingsOptions(mesh_axes=AXES))
    inline = pass_call("xla-inline-calls")
    inlined = converted(dumped("gspmd")[index], (inline, *read))
    expected = converted(dumped("gspmd")[index], (*read, inline))
    assert "SPMD" not in inlined
    assert _boundary(decide_shardings(inlined)) == _boundary(decide_shardings(expected))
    if inlined.count("sdy.manual_computation") == expected.count("sdy.manual_computation"):
        assert comparable(inlined) == comparable(expected)


@pytest.mark.parametrize("index", PROGRAMS)
def test_round_trip(index: int) -> None:
    calls = pipelines.stablehlo_export_passes() + pipelines.stablehlo_import_passes(
        ImportShardingsOptions(mesh_axes=AXES)
    )
    program = dumped("sdy")[index]
    assert comparable(converted(program, calls)) == comparable(converted(program, ()))


@pytest.mark.parametrize("index", PROGRAMS)
def test_round_trip_through_frontend_attributes(index: int) -> None:
    calls = pipelines.round_trip_export_passes() + pipelines.stablehlo_import_passes()
    program = dumped("sdy")[index]
    assert "sdy.mesh @" not in converted(program, pipelines.round_trip_export_passes())
    assert comparable(converted(program, calls)) == comparable(converted(program, ()))


@pytest.mark.parametrize("index", PROGRAMS)
def test_propagation_of_imported_hlo(index: int) -> None:
    """HLO has other ops, so only the shardings at the boundary of the main function are compared."""
    read = converted(dumped("hlo")[index], pipelines.stablehlo_import_passes())
    assert "xla.sdy" not in read
    assert "mhlo.sharding" not in read
    ours, theirs = (decide_shardings(text) for text in (read, dumped("sdy")[index]))
    assert _boundary(ours) == _boundary(theirs)


@pytest.mark.parametrize("index", PROGRAMS)
def test_propagation_on_a_derived_mesh(index: int) -> None:
    unnamed = converted(dumped("gspmd")[index], pipelines.stablehlo_import_passes())
    decided = decide_shardings(unnamed).replace("_axis_0", "x").replace("_axis_1", "y")
    assert comparable(decided) == comparable(decide_shardings(dumped("sdy")[index]))


def test_exported_programs_run() -> None:
    """Programs propagated here and compiled by GSPMD for eight devices have the results of JAX's own."""
    pytest.importorskip("jax", reason="needs jax")
    run = run_with_jax(["-m", "tests.xla.gspmd.partitioned_programs"])
    assert run.returncode == 0, run.stderr.decode()
    compared = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(compared) == COUNT
    assert all(program == {"equal": True, "alike": True} for program in compared)


def _boundary(text: str) -> list[str]:
    (main,) = re.findall(r"func\.func (?:public )?@main(.*)", text)
    # The mesh of replica groups may have the name already.
    return [found.replace("@mesh_0", "@mesh") for found in re.findall(r"#sdy\.sharding<.*?>(?=[,}])", main)]


def test_replica_groups_keep_their_mesh() -> None:
    """Since JAX 0.12 they name it, and the export erases meshes."""
    text = """module {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups =
      #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}>
      : (tensor<8xf32>) -> tensor<32xf32>
    %1 = stablehlo.slice %0 [0:8] : (tensor<32xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
"""
    exported = converted(text, pipelines.stablehlo_export_passes())
    verify_module(parse_module(exported))
    assert "@mesh" not in exported
