"""Recording: what it sees, that it changes nothing, that nobody records when nobody asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardy_py.base import releases
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.movements import is_recording
from shardy_py.passes import pass_call, pipelines
from shardy_py.passes.runner import recording, run_passes
from tests.conftest import corpus_names
from tests.propagation.random_programs import random_program

SAMPLE = ("mlp_train", "calls", "priorities", "shard_map_collectives", "dropout_rng")
OTHERS = [name for name in corpus_names() if name not in SAMPLE and not name.startswith("transformer_train_")]
"""The rest of the corpus, without what is `transformer_train` many times over."""


@pytest.mark.parametrize("seed", range(12))
def test_changes_nothing(seed: int) -> None:
    text = random_program(seed)
    calls = pipelines.propagation_passes()
    plain = print_module(run_passes(parse_module(text), calls))
    with recording() as record:
        recorded = print_module(run_passes(parse_module(text), calls))
    assert recorded == plain
    assert len(record.propagations) == 1


@pytest.mark.parametrize("name", [*SAMPLE, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_corpus(name: str, corpus: Callable[[str], str]) -> None:
    with recording(), releases.of("0.10"):
        module = run_passes(parse_module(corpus(name)), pipelines.propagation_passes())
    assert print_module(module) == corpus(f"{name}.propagated")


def test_only_within() -> None:
    calls = (pass_call("sdy-basic-propagate"),)
    with recording() as outer:
        assert is_recording()
        with recording() as inner:
            run_passes(parse_module(random_program(1)), calls)
        assert not outer.events
    assert not is_recording()
    run_passes(parse_module(random_program(1)), calls)
    assert len(inner.propagations) == 1
    assert not outer.events
