"""The propagation passes against the C++ Shardy in jaxlib: random programs and the corpus."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.pipelines import propagation_passes
from shardy_py.passes.runner import run_passes
from tests.differential.reference_process import CRASHED, ReferenceProcess
from tests.propagation.random_programs import random_program

PASSES = ("basic", "aggressive", "op-priority", "user-priority")
STRATEGIES = ("basic", "aggressive", "basic-then-aggressive")
FRONT = (
    "sdy-import-pipeline,sdy-flatten-call-graph,symbol-dce,sdy-import-func-calls,symbol-dce,"
    "sdy-apply-sharding-constraints,sdy-sharding-group-import,sdy-pre-order-funcs"
)
"""What comes before propagation."""


def run(text: str, name: str, options: dict[str, str]) -> str:
    """Our output of one pass."""
    fields = {o.replace("-", "_"): v if v in STRATEGIES else v == "true" for o, v in options.items()}
    module = parse_module(text)
    run_passes(module, (pass_call(name, **fields),), verify="never")
    return print_module(module)


def spelled(name: str, options: dict[str, str]) -> str:
    """The pass as MLIR reads it."""
    return name + ("{" + " ".join(f"{o}={v}" for o, v in options.items()) + "}" if options else "")


def random_options(rng: random.Random, pass_: str) -> dict[str, str]:
    options: dict[str, str] = {}
    if rng.random() < 0.25:
        options["conservative-propagation"] = "true"
    if rng.random() < 0.25:
        options["keep-sharding-rules"] = "true"
    if pass_ != "basic" and rng.random() < 0.4:
        options["propagation-strategy"] = rng.choice(STRATEGIES)
    return options


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int, process: ReferenceProcess) -> None:
    rng = random.Random(seed)
    pass_ = rng.choice(PASSES)
    options = random_options(rng, pass_)
    # The reference crashes on dead ops whose shardings have priorities: it keeps references to them.
    program = random_program(seed, keeps_all=pass_ == "user-priority")
    prepared = process.output(program, rng.choice(("sdy-add-data-flow-edges", "sdy-import-pipeline")))
    name = f"sdy-{pass_}-propagate"
    assert run(prepared, name, options) == process.output(prepared, spelled(name, options))


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_through_the_pipeline(seed: int, process: ReferenceProcess) -> None:
    """Here the order of uses after the passes before propagation counts too."""
    program = random_program(seed, keeps_all=True)
    status, expected = process.run(program, "sdy-propagation-pipeline")
    if status == CRASHED:
        pytest.skip("C++ ends in a segmentation fault")
    module = parse_module(program)
    run_passes(module, propagation_passes(), verify="never")
    assert print_module(module) == expected


def test_the_corpus(corpus_program: str, corpus: Callable[[str], str], reference: Any) -> None:
    if corpus_program in ("transformer_train_12", "transformer_train_48"):
        pytest.skip("large, and like transformer_train")
    prepared = reference.run(corpus(corpus_program), FRONT)
    name, options = "sdy-user-priority-propagate", {"keep-sharding-rules": "true"}
    assert run(prepared, name, options) == reference.run(prepared, spelled(name, options))
