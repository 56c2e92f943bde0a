"""Real JAX programs, whole: what C++ MLIR and Shardy print of them is what we print, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import pytest

from shardy_py.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes
from shardy_py.pipeline import decide_shardings, read

Corpus = Callable[[str], str]

# Programs on which the Shardy of jaxlib 0.10.2 differs from the newest, with the reason.
DIFFERS: dict[str, str] = {}


def test_propagation(corpus_program: str, corpus: Corpus) -> None:
    if corpus_program in DIFFERS:
        pytest.skip(f"jaxlib differs from newest Shardy: {DIFFERS[corpus_program]}")
    same(decide_shardings(corpus(corpus_program)), corpus(f"{corpus_program}.propagated"))


@pytest.mark.parametrize("generic", [False, True], ids=["pretty", "generic"])
@pytest.mark.parametrize("suffix", ["", ".propagated"], ids=["input", "propagated"])
def test_reading_and_printing(
    corpus_program: str, suffix: str, generic: bool, corpus: Corpus, reference: Any
) -> None:
    text = corpus(corpus_program + suffix)
    expected = reference.run(text, generic=generic)
    same(print_module(parse_module(text), generic=generic), expected)
    same(print_module(parse_module(expected), generic=generic), expected)


@pytest.mark.parametrize("conservative", [False, True], ids=["", "conservative"])
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
