"""Real JAX programs, whole: what C++ MLIR and Shardy print of them is what we print, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import pytest

from shardy_py.api.pipeline import decide_shardings, read
from shardy_py.base import releases
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes
from tests.conftest import CORPUS, REPEATED

Corpus = Callable[[str], str]

CHANGED = {"0.10": "", "0.12": "jax_0_12/"}
"""The folders of the results that are not those of the oldest release."""


@pytest.mark.parametrize("release", CHANGED)
def test_propagation(corpus_program: str, release: str, corpus: Corpus) -> None:
    changed = CORPUS / f"{CHANGED[release]}{corpus_program}.propagated.mlir"
    if CHANGED[release] and not changed.exists() and corpus_program == REPEATED[-1]:
        pytest.skip("as in the oldest release, with the layers of another program")
    expected = changed.read_text() if changed.exists() else corpus(f"{corpus_program}.propagated")
    with releases.of(release):
        same(decide_shardings(corpus(corpus_program)), expected)


FORMS = {"pretty": False, "generic": True}
"""The files themselves are pretty: `tests/mlir/text/test_round_trip.py` reads and prints them each time."""


@pytest.mark.parametrize(
    "generic",
    [pytest.param(is_, marks=[] if is_ else pytest.mark.slow, id=name) for name, is_ in FORMS.items()],
)
@pytest.mark.parametrize("suffix", ["", ".propagated"], ids=["input", "propagated"])
def test_reading_and_printing(
    corpus_program: str, suffix: str, generic: bool, corpus: Corpus, reference: Any
) -> None:
    text = corpus(corpus_program + suffix)
    expected = reference.run(text, generic=generic)
    same(print_module(parse_module(text), generic=generic), expected)
    same(print_module(parse_module(expected), generic=generic), expected)


@pytest.mark.parametrize(
    "conservative", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "conservative"]
)
def test_rules(corpus_program: str, conservative: bool, corpus: Corpus, reference: Any) -> None:
    text = corpus(corpus_program)
    call = pass_call("sdy-populate-op-sharding-rules", conservative_propagation=conservative)
    module = run_passes(read(text), (call,))
    same(print_module(module), reference.run(text, str(call)))


def same(ours: str, expected: str) -> None:
    """Asserts equality; shows the first lines that differ, cut to what a person can read."""
    if ours == expected:
        return
    pairs = zip_longest(expected.split("\n"), ours.split("\n"), fillvalue="(end)")
    number, (line, our_line) = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    column = next((c for c, (a, b) in enumerate(zip(line, our_line, strict=False)) if a != b), 0)
    start = max(0, column - 60)
    shown = (f"{text[start : start + 160]}" for text in (line, our_line))
    pytest.fail(f"line {number}, column {column + 1}:\n- " + "\n+ ".join(shown), pytrace=False)
