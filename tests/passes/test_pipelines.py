"""The order of passes, held against the C++ pipeline's own when jaxlib is there."""

from __future__ import annotations

import re

import pytest

from shardy_py.base.behaviours import Behaviour
from shardy_py.cli.pass_text import build_step
from shardy_py.passes.pipeline_options import ExportPipelineOptions, PropagationPipelineOptions
from shardy_py.passes.pipelines import (
    export_passes,
    propagation_passes,
)
from tests.differential.reference_process import ReferenceProcess

WITHOUT_EFFECT = {"sdy-save-module"}  # writes debug files when a directory is given


STAGES = ("resolve-permutation-factors", "optimize-collectives", "convert-global-to-local")
CASES = [
    ("sdy-propagation-pipeline", ""),
    ("sdy-propagation-pipeline", "dedup-functions-fully=true"),
    ("sdy-import-pipeline", ""),
    ("sdy-export-pipeline", ""),
    (
        "sdy-export-pipeline",
        "enable-insert-explicit-collectives=true remove-all-gather-reduce-scatter-for-cmv1=true",
    ),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_same_passes_as_the_reference(name: str, options: str, process: ReferenceProcess) -> None:
    text = process.pipeline(f"{name}{{{options}}}")
    flat = (
        re.sub(r"\{[^{}]*(\{[^{}]*\}[^{}]*)?\}", "", text)
        .removeprefix("builtin.module(")
        .replace("func.func(", "")
    )
    theirs = [part for part in re.split(r"[,()]+", flat) if part and part not in WITHOUT_EFFECT]
    ours = [call.row.name for call in build_step(name, options).calls]
    assert ours == theirs


@pytest.mark.parametrize("stage", STAGES)
def test_same_passes_up_to_a_stage(stage: str, process: ReferenceProcess) -> None:
    if not Behaviour.POSITIONS_ARE_NARROW.holds:
        pytest.skip("C++ has no stages yet")
    test_same_passes_as_the_reference("sdy-export-pipeline", f"partitioner-stage={stage}", process)


@pytest.mark.parametrize("name", ["sdy-propagation-pipeline", "sdy-import-pipeline", "sdy-export-pipeline"])
def test_modules_are_saved_where_the_reference_does(name: str, process: ReferenceProcess) -> None:
    theirs = re.findall(r"sdy-save-module|sdy-[-a-z]+|canonicalize", process.pipeline(f"{name}{{}}"))
    ours = [call.row.name for call in build_step(name, "dump-directory=out").calls]
    around = [_neighbours(calls) for calls in (ours, theirs)]
    assert around[0] == around[1]


def _neighbours(calls: list[str]) -> list[str]:
    """What stands before each file."""
    known = [name for name in calls if name != "sdy-collective"]
    return [known[i - 1] for i, name in enumerate(known) if name == "sdy-save-module"]


def test_notes_are_made_and_removed() -> None:
    calls = build_step("sdy-propagation-pipeline", "debug-sharding-origins").calls
    options = {call.row.name: dict(call.options) for call in calls}
    assert options["sdy-apply-sharding-constraints"]["debug_sharding_origins"] is True
    assert options["sdy-user-priority-propagate"] == {
        "keep_sharding_rules": True,
        "debug_sharding_origins": True,
        "debug_propagation_edge_sharding": False,
    }
    assert options["sdy-sink-data-flow-edges"]["sink_debug_sharding_origins"] is True
    names = [call.row.name for call in calls]
    assert names[-3:] == ["canonicalize", "sdy-remove-propagation-debug-info", "sdy-drop-sharding-rules"]


def test_export_options() -> None:
    assert [c.row.name for c in export_passes(ExportPipelineOptions(avoid_export_for_partitioning=True))] == [
        "sdy-constant-or-scalar-merger",
        "sdy-sink-data-flow-edges",
        "sdy-update-non-divisible-input-output-shardings",
        "sdy-remove-sub-axes-in-input-output-shardings",
        "sdy-close-shardings",
        "sdy-drop-sharding-rules",
    ]
    assert export_passes()[-1].row.name == "sdy-inline-meshes"
    uneven = ExportPipelineOptions(update_non_divisible_input_output_shardings=False)
    shorter = {c.row.name for c in export_passes(uneven)}
    assert "sdy-remove-sub-axes-in-input-output-shardings" not in shorter


def test_propagation_takes_the_options_of_the_export() -> None:
    names = [
        call.row.name
        for call in propagation_passes(PropagationPipelineOptions(avoid_export_for_partitioning=True))
    ]
    assert "sdy-insert-explicit-reshards" not in names
    assert "sdy-remove-sharding-groups" not in names
    names = [
        call.row.name
        for call in propagation_passes(
            PropagationPipelineOptions(keep_sharding_rules=True, inline_meshes=True)
        )
    ]
    assert "sdy-drop-sharding-rules" not in names
    assert names[-1] == "sdy-inline-meshes"
    uneven = propagation_passes(PropagationPipelineOptions(update_non_divisible_input_output_shardings=False))
    assert "sdy-update-non-divisible-input-output-shardings" not in [call.row.name for call in uneven]


def test_conservative_propagation_reaches_the_pass() -> None:
    for conservative in (False, True):
        calls = propagation_passes(PropagationPipelineOptions(conservative_propagation=conservative))
        (call,) = (call for call in calls if call.row.name == "sdy-user-priority-propagate")
        assert dict(call.options).get("conservative_propagation", False) is conservative


def test_an_option_without_effect() -> None:
    assert export_passes(ExportPipelineOptions(avoid_reshards_on_calls=True)) == export_passes()


def test_explicit_batching_follows_the_splitter() -> None:
    step = build_step("sdy-import-pipeline", "enable-explicit-gather-scatter-batching=true")
    names = [call.row.name for call in step.calls]
    at = names.index("sdy-explicit-gather-scatter-batching")
    assert names[at - 1] == "sdy-constant-or-scalar-splitter"
    assert "sdy-explicit-gather-scatter-batching" not in [c.row.name for c in propagation_passes()]


def test_propagation_keeps_the_rules_for_what_follows() -> None:
    (call,) = (c for c in propagation_passes() if c.row.name == "sdy-user-priority-propagate")
    assert dict(call.options) == {"keep_sharding_rules": True}
    assert propagation_passes()[-1].row.name == "sdy-drop-sharding-rules"
