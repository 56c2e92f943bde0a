"""The JAX adaptor gives the shardings that `jax.jit(...).lower(...).compile()` gives, on eight host devices.

The corpus takes a minute. More random functions and shardings: SHARDY_JAX_RANDOM=500.
"""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

from tests.conftest import CORPUS, NO_CORPUS
from tests.frontends.compiled import Compared, run_apart
from tests.frontends.compiled_functions import FUNCTIONS
from tests.frontends.compiled_models import MODELS

PROGRAMS = (
    *("mlp_train", "transformer_forward", "decode_kv_cache", "shard_map_collectives", "signal"),
    *("lowered_for_tpu", "calls", "constraints", "priorities", "custom_rules", "explicit_axes"),
    *("scan_transformer", "transformer_train", "transformer_train_12", "transformer_train_48", "moe"),
    *("convnet_train", "embedding_scatter", "linalg", "dropout_rng", "special_functions"),
)
"""All programs of the corpus."""

RANDOM = int(os.environ.get("SHARDY_JAX_RANDOM", "12"))


@pytest.fixture(scope="session")
def compared_functions() -> dict[str, Compared]:
    return run_apart("compiled_functions")


@pytest.fixture(scope="session")
def compared_corpus() -> dict[str, Compared]:
    if not (CORPUS / "make_corpus.py").exists():
        pytest.skip(NO_CORPUS)
    return run_apart("compiled_corpus", str(CORPUS), "8", *PROGRAMS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_sharded_as_jax_compiles_it(name: str, compared_functions: dict[str, Compared]) -> None:
    found = compared_functions[name]
    assert not found.differing
    assert found.results or name == "nothing_sharded"


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_of_the_corpus_is_sharded_as_jax_compiles_it(
    name: str, compared_corpus: dict[str, Compared]
) -> None:
    found = compared_corpus[name]
    assert not found.differing
    assert found.arguments
    assert found.results


@pytest.mark.parametrize("seed", range(1 + RANDOM // 12))
def test_models_are_sharded_as_jax_compiles_them(seed: int) -> None:
    """Seed 0: with shardings as written; others: drawn at random, so that they disagree."""
    found = run_apart("compiled_models", str(seed))
    assert found.keys() == MODELS.keys()
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
    assert sorted(programs) == sorted(PROGRAMS)
