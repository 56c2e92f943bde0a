"""Real programs through text and back, without the reference: `tests/test_corpus.py` compares with C++."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardy_py.mlir.dialects import parse_module, print_module

Corpus = Callable[[str], str]


def test_a_printed_program_prints_as_itself(corpus_program: str, corpus: Corpus) -> None:
    text = corpus(f"{corpus_program}.propagated")  # written by MLIR's printer
    assert print_module(parse_module(text)) == text


@pytest.mark.parametrize("suffix", ["", ".propagated"], ids=["input", "propagated"])
def test_generic_form_says_the_same(corpus_program: str, suffix: str, corpus: Corpus) -> None:
    module = parse_module(corpus(corpus_program + suffix))
    generic = print_module(module, generic=True)
    again = parse_module(generic)
    assert print_module(again) == print_module(module)
    assert print_module(again, generic=True) == generic
