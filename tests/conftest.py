"""What all tests share: the folder of real programs beside the checkout."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
NO_CORPUS = "the corpus of JAX programs is not there (../shared/corpus beside the checkout)"


def corpus_names() -> list[str]:
    """The names of the programs; empty when the corpus is missing."""
    manifest = CORPUS / "manifest.json"
    return [p["name"] for p in json.loads(manifest.read_text())["programs"]] if manifest.exists() else []


def corpus_text(name: str) -> str:
    """The text of `name.mlir`, packed or not."""
    path = CORPUS / f"{name}.mlir"
    return (
        path.read_text()
        if path.exists()
        else gzip.decompress((CORPUS / f"{name}.mlir.gz").read_bytes()).decode()
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a parameter `corpus_program` runs once for each program of the corpus."""
    if "corpus_program" in metafunc.fixturenames:
        missing = pytest.param("", marks=pytest.mark.skip(reason=NO_CORPUS))
        metafunc.parametrize("corpus_program", corpus_names() or [missing])


@pytest.fixture(scope="session")
def corpus() -> Callable[[str], str]:
    """`corpus("NAME")` is a program, `corpus("NAME.propagated")` what is expected; skips without them."""
    if not corpus_names():
        pytest.skip(NO_CORPUS)
    return corpus_text


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT
