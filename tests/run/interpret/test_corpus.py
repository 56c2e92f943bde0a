"""Programs of the corpus run here as XLA runs them; all of them: `python -m tests.run.interpret.corpus`."""

from __future__ import annotations

import pytest

from tests.conftest import NO_CORPUS, corpus_names
from tests.run.interpret.corpus import compared


@pytest.mark.skipif(not corpus_names(), reason=NO_CORPUS)
@pytest.mark.parametrize("name", ["moe", "shard_map_collectives"])
def test_as_xla(name: str) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    found = compared(name)
    assert not found.fault
