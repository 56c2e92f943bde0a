"""The passes behind propagation beside the C++ Shardy: the same text after each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from shardy_py.base.behaviours import Behaviour
from shardy_py.cli.pass_text import build_step
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import PassCall, pass_call
from shardy_py.passes.pipeline_options import PartitioningOptions
from shardy_py.passes.pipelines import export_passes
from shardy_py.passes.runner import run_passes
from tests.conftest import Reference
from tests.differential.reference_process import ReferenceProcess

EXAMPLES = Path(__file__).resolve().parents[2] / "filecheck" / "passes"
FIRST = "sdy-update-non-divisible-input-output-shardings"

DIFFERS = {
    "insert_explicit_reshards_inlined_meshes.mlir": "C++ ends the process",
    "insert_explicit_reshards_unreduced_meshes.mlir": "C++ ends the process",
    "canonicalize.mlir": "jaxlib's Python registers no inliner for func, so that C++ inlines nothing into it",
}

FULL = pass_call("sdy-insert-explicit-reshards", enable_full_version=True)
CANONICALIZE = pass_call("canonicalize")


def last_passes() -> tuple[PassCall, ...]:
    """The passes of the export from `FIRST` on."""
    calls = export_passes(PartitioningOptions())
    return calls[next(i for i, call in enumerate(calls) if call.row.name == FIRST) :]


def same(text: str, step: PassCall, reference: Reference | ReferenceProcess) -> str:
    """Compares what both sides make of `text`; their text."""
    module = parse_module(text)
    run_passes(module, (step,), verify="never")
    expected = reference.output(text, str(step))
    assert print_module(module) == expected, f"after {step.row.name}"
    return expected


def propagated(text: str, reference: Reference) -> str:
    """`text` when the first of `last_passes` is about to run, by C++."""
    pipeline = reference.pipeline("sdy-propagation-pipeline")
    before = pipeline.removeprefix("builtin.module(").partition(f",{FIRST}")[0]
    without_files = re.sub(r"sdy-save-module(\{[^}]*\})?,", "", before)
    return reference.run(text, without_files)


def test_corpus(corpus_program: str, corpus: Callable[[str], str], reference: Reference) -> None:
    if corpus_program == "transformer_train_48":
        pytest.skip("the layers of transformer_train over again")
    text, steps = propagated(corpus(corpus_program), reference), last_passes()
    module = parse_module(text)
    for step, expected in zip(steps, reference.stages(text, [*map(str, steps)]), strict=True):
        run_passes(module, (step,), verify="never")
        assert print_module(module) == expected, f"after {step.row.name}"


def test_corpus_with_all_reshards(
    corpus_program: str, corpus: Callable[[str], str], reference: Reference
) -> None:
    if corpus_program.startswith("transformer_train_"):
        pytest.skip("the layers of transformer_train over again")
    text = same(corpus(f"{corpus_program}.propagated"), FULL, reference)
    same(text, CANONICALIZE, reference)
    same(corpus(corpus_program), FULL, reference)


def test_corpus_canonicalized(
    corpus_program: str, corpus: Callable[[str], str], reference: Reference
) -> None:
    if corpus_program.startswith("transformer_train_"):
        pytest.skip("the layers of transformer_train over again")
    same(corpus(corpus_program), CANONICALIZE, reference)


def example_runs() -> list[tuple[str, str]]:
    """File and flag of each lit test of the last passes."""
    names = {step.row.name for step in last_passes()}
    runs: list[tuple[str, str]] = []
    for path in sorted(EXAMPLES.glob("*.mlir")):
        line = re.search(r"RUN: sdy-opt %s (.*) \| filecheck", path.read_text())
        flag = shlex.split(line[1])[-1].lstrip("-") if line else ""
        if flag.partition("=")[0] in names:
            runs.append((path.name, flag))
    return runs


@pytest.mark.parametrize(("file", "flag"), example_runs())
def test_example(file: str, flag: str, process: ReferenceProcess) -> None:
    if file in DIFFERS:
        pytest.skip(DIFFERS[file])
    if "verify-unreduced-axes" in flag and not Behaviour.UNREDUCED_AXES_ARE_VERIFIED.holds:
        pytest.skip("C++ has no such pass yet")
    name, _, options = flag.partition("=")
    for step in build_step(name, options).calls:
        same((EXAMPLES / file).read_text(), step, process)


def test_every_pass_has_an_example() -> None:
    assert {flag.partition("=")[0] for _, flag in example_runs()} == {s.row.name for s in last_passes()}
