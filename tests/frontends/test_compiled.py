"""The JAX adaptor gives the shardings that `jax.jit(...).lower(...).compile()` gives, on eight host devices.

The corpus takes a minute. More random functions and shardings: SHARDY_JAX_RANDOM=500.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from itertools import pairwise

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

from shardy_py.base.releases import JAX_0_10, installed
from tests.conftest import CORPUS, NO_CORPUS
from tests.frontends.compiled import Compared, run_apart
from tests.frontends.compiled_functions import FUNCTIONS
from tests.frontends.compiled_models import MODELS

PROGRAMS = (
    *("mlp_train", "transformer_forward", "decode_kv_cache", "shard_map_collectives", "signal"),
    *("calls", "constraints", "priorities", "custom_rules", "explicit_axes"),
)
LARGE = (
    *("lowered_for_tpu", "scan_transformer", "moe", "embedding_scatter", "dropout_rng"),
    *("transformer_train", "transformer_train_12", "transformer_train_48"),
    *("convnet_train", "linalg", "special_functions"),
)
"""With those above all programs of the corpus: those that XLA compiles for seconds."""

RANDOM = int(os.environ.get("SHARDY_JAX_RANDOM", "12"))


SAMPLE = (
    *("causal_attention", "decoding_with_a_cache", "sorted_experts", "scanned_layers", "adam", "patches"),
    *("language_model_loss", "branches", "contention", "partly_manual_layers", "jacobians"),
)
"""Models of each kind of structure: loops, branches, gradients, scatters, manual parts, conflicts."""


@pytest.fixture(scope="session")
def compared_functions() -> dict[str, Compared]:
    return run_apart("compiled_functions")


def compared_corpus(programs: tuple[str, ...]) -> dict[str, Compared]:
    if not (CORPUS / "make_corpus.py").exists():
        pytest.skip(NO_CORPUS)
    return run_apart("compiled_corpus", str(CORPUS), "8", *programs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_sharded_as_jax_compiles_it(name: str, compared_functions: dict[str, Compared]) -> None:
    found = compared_functions[name]
    assert not found.differing
    assert found.results or name == "nothing_sharded"


@pytest.mark.parametrize(
    "programs", [PROGRAMS, pytest.param(LARGE, marks=pytest.mark.slow)], ids=["small", "large"]
)
def test_programs_of_the_corpus_are_sharded_as_jax_compiles_them(programs: tuple[str, ...]) -> None:
    found = compared_corpus(programs)
    assert found.keys() == {*programs}
    unbuilt = {name: compared.unbuilt for name, compared in found.items() if compared.unbuilt}
    assert not unbuilt or installed(version("jaxlib"))[0] is not JAX_0_10  # that the corpus is written for
    assert {name: compared.differing for name, compared in found.items() if compared.differing} == {}
    assert all(c.arguments and c.results for name, c in found.items() if name not in unbuilt)


@pytest.mark.parametrize(
    ("names", "seed"),
    [
        (SAMPLE, 0),
        *(pytest.param((*MODELS,), seed, marks=pytest.mark.slow) for seed in range(1 + RANDOM // 12)),
    ],
    ids=["sample", *(f"all-{seed}" for seed in range(1 + RANDOM // 12))],
)
def test_models_are_sharded_as_jax_compiles_them(names: tuple[str, ...], seed: int) -> None:
    """Seed 0: with shardings as written; others: drawn at random, so that they disagree."""
    found = run_apart("compiled_models", str(seed), *names)
    assert found.keys() == {*names}
    assert {name: compared.differing for name, compared in found.items() if compared.differing} == {}
    assert seed or all(compared.results for compared in found.values())


def test_random_functions_are_sharded_as_jax_compiles_them() -> None:
    found = run_apart("compiled_random", "0", str(RANDOM)).values()
    assert [(compared.name, compared.differing) for compared in found if compared.differing] == []
    assert sum(compared.results for compared in found) > RANDOM


def test_every_program_of_the_generator_is_compared() -> None:
    generator = CORPUS / "make_corpus.py"
    if not generator.exists():
        pytest.skip(NO_CORPUS)
    lines = generator.read_text().splitlines()
    programs = [
        after.removeprefix("def ").partition("(")[0]
        for before, after in pairwise(lines)
        if before == "@program"
    ]
    assert sorted(programs) == sorted(PROGRAMS + LARGE)
