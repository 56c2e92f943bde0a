"""Passes one by one beside the C++ Shardy: the same text after each, on real, random and small programs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from shardy_py.cli.pass_text import build_step
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import PassCall, pass_call
from shardy_py.passes.pipeline_options import PropagationPipelineOptions
from shardy_py.passes.pipelines import (
    import_passes,
    inline_passes,
    outline_passes,
    propagation_passes,
)
from shardy_py.passes.runner import run_passes
from tests.conftest import Reference
from tests.differential.reference_process import ReferenceProcess
from tests.passes.programs import ProgramWriter

EXAMPLES = Path(__file__).resolve().parents[2] / "filecheck" / "passes"
MIRRORS = (
    "sdy-add-func-data-flow-edges",
    "sdy-constant-or-scalar-merger",
    "sdy-sink-data-flow-edges",
    "sdy-sink-func-data-flow-edges",
    "sdy-remove-sharding-groups",
    "sdy-sharding-constraint-to-reshard",
)
NAMES = {call.row.name for call in import_passes() + inline_passes() + outline_passes()} | {*MIRRORS}


def example_runs() -> list[tuple[str, str]]:
    """File and flag of each lit test of the passes in `NAMES`."""
    runs: list[tuple[str, str]] = []
    for path in sorted(EXAMPLES.glob("*.mlir")):
        line = re.search(r"RUN: sdy-opt %s (.*) \| filecheck", path.read_text())
        flag = shlex.split(line[1])[-1].lstrip("-") if line else ""
        if flag.partition("=")[0] in NAMES:
            runs.append((path.name, flag))
    return runs


def test_every_pass_has_an_example() -> None:
    assert {flag.partition("=")[0] for _, flag in example_runs()} == NAMES


@pytest.mark.parametrize(("file", "flag"), example_runs())
def test_example(file: str, flag: str, process: ReferenceProcess) -> None:
    name, _, options = flag.partition("=")
    for chunk in re.split(r"^// -----\n", (EXAMPLES / file).read_text(), flags=re.M):
        run_beside(process, chunk, build_step(name, options).calls)


def test_corpus(corpus_program: str, corpus: Callable[[str], str], reference: Reference) -> None:
    if corpus_program.startswith("transformer_train_"):
        pytest.skip("the layers of transformer_train over again")
    run_beside(reference, corpus(corpus_program), import_passes() + inline_passes())


@pytest.mark.parametrize("seed", range(40))
def test_random_program(seed: int, process: ReferenceProcess) -> None:
    """Without propagation: the shardings that the export passes meet are those that the program came with."""
    exported = tuple(map(pass_call, MIRRORS))
    calls = (*import_passes(), *inline_passes(), *outline_passes(), *exported)
    run_beside(process, ProgramWriter(seed).program(), calls)


@pytest.mark.parametrize("seed", range(40, 60))
@pytest.mark.parametrize("dedup", [False, True], ids=["", "dedup"])
def test_random_program_all_the_way(seed: int, dedup: bool, process: ReferenceProcess) -> None:
    run_beside(
        process,
        ProgramWriter(seed).program(),
        propagation_passes(PropagationPipelineOptions(dedup_functions_fully=dedup)),
    )


def run_beside(process: ReferenceProcess | Reference, text: str, calls: Iterable[PassCall]) -> None:
    """Runs passes on both sides and compares what each leaves."""
    ours, steps = parse_module(text), tuple(calls)
    for call, theirs in zip(steps, process.stages(text, [str(call) for call in steps]), strict=True):
        run_passes(ours, (call,), verify="never")
        assert print_module(ours) == theirs, f"after {call.row.name}"
