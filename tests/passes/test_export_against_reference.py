"""The passes behind propagation beside the C++ Shardy: the same text after each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardy_py.cli.pass_text import build_step
from shardy_py.dialects import parse_module, print_module
from shardy_py.passes import PassCall, pass_call
from shardy_py.passes.pipeline_options import PartitioningOptions
from shardy_py.passes.pipelines import export_passes
from shardy_py.passes.runner import run_passes

EXAMPLES = Path(__file__).resolve().parents[2] / "filecheck" / "passes"
FIRST = "sdy-update-non-divisible-input-output-shardings"

EXPORT = export_passes(PartitioningOptions())
CALLS = EXPORT[next(i for i, call in enumerate(EXPORT) if call.row.name == FIRST) :]
NEWER_THAN_JAXLIB = {"sdy-verify-unreduced-axes"}

# What the Shardy of jaxlib 0.10.2 does not do, or not yet.
DIFFERS = {
    "insert_explicit_reshards_inlined_meshes.mlir": "it ends the process",
    "insert_explicit_reshards_unreduced_meshes.mlir": "it ends the process",
    "canonicalize.mlir": "it does not inline manual computations over axes of size one",
    "custom_rules": "it does not bring the operands of a single-device op to that device",
}


FULL = pass_call("sdy-insert-explicit-reshards", enable_full_version=True)
CANONICALIZE = pass_call("canonicalize")


def same(text: str, step: PassCall, reference: Any) -> str:
    """Compares what both sides make of `text`; their text."""
    module = parse_module(text)
    run_passes(module, (step,), verify="never")
    expected = text if step.row.name in NEWER_THAN_JAXLIB else reference.run(text, str(step))
    assert print_module(module) == expected, f"after {step.row.name}"
    return expected


def propagated(text: str, reference: Any) -> str:
    """`text` when the first pass of `CALLS` is about to run, by C++."""
    pipeline = reference.pipeline("sdy-propagation-pipeline")
    before = pipeline.removeprefix("builtin.module(").partition(f",{FIRST}")[0]
    without_files = re.sub(r"sdy-save-module(\{[^}]*\})?,", "", before)
    return reference.run(text, without_files)


def test_corpus(corpus_program: str, corpus: Callable[[str], str], reference: Any) -> None:
    if corpus_program == "transformer_train_48":
        pytest.skip("the layers of transformer_train over again")
    text = propagated(corpus(corpus_program), reference)
    for step in CALLS:
        text = same(text, step, reference)
    assert text == corpus(f"{corpus_program}.propagated")


def test_corpus_with_all_reshards(corpus_program: str, corpus: Callable[[str], str], reference: Any) -> None:
    if corpus_program in DIFFERS or corpus_program.startswith("transformer_train_"):
        pytest.skip(DIFFERS.get(corpus_program, "the layers of transformer_train over again"))
    text = same(corpus(f"{corpus_program}.propagated"), FULL, reference)
    same(text, CANONICALIZE, reference)
    same(corpus(corpus_program), FULL, reference)


def test_corpus_canonicalized(corpus_program: str, corpus: Callable[[str], str], reference: Any) -> None:
    if corpus_program.startswith("transformer_train_"):
        pytest.skip("the layers of transformer_train over again")
    same(corpus(corpus_program), CANONICALIZE, reference)


def example_runs() -> list[tuple[str, str]]:
    """File and flag of each lit test of the passes in `CALLS`."""
    names = {step.row.name for step in CALLS} - NEWER_THAN_JAXLIB
    runs: list[tuple[str, str]] = []
    for path in sorted(EXAMPLES.glob("*.mlir")):
        line = re.search(r"RUN: sdy-opt %s (.*) \| filecheck", path.read_text())
        flag = shlex.split(line[1])[-1].lstrip("-") if line else ""
        if flag.partition("=")[0] in names:
            runs.append((path.name, flag))
    return runs


@pytest.mark.parametrize(("file", "flag"), example_runs())
def test_example(file: str, flag: str, reference: Any) -> None:
    if file in DIFFERS:
        pytest.skip(DIFFERS[file])
    name, _, options = flag.partition("=")
    for step in build_step(name, options).calls:
        same((EXAMPLES / file).read_text(), step, reference)


def test_every_pass_has_an_example() -> None:
    assert {flag.partition("=")[0] for _, flag in example_runs()} == {
        step.row.name for step in CALLS
    } - NEWER_THAN_JAXLIB
    assert (EXAMPLES / "verify_unreduced_axes.mlir").exists()
