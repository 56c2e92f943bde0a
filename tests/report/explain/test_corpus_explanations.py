"""Axes of real programs begin at annotations; without these they go, or are held by others.

`EXPLAINED_PAIRS=200` checks all axes of the largest program too, and takes the annotation of as many away.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from shardy_py.mlir.dialects import parse_module
from tests.conftest import NO_CORPUS, corpus_names, corpus_text
from tests.differential.programs import Width, wide_program
from tests.propagation.random_programs import random_program
from tests.report.explain.removing import annotations, explained, first_root, outcome, pairs_of, written

PAIRS = int(os.environ.get("EXPLAINED_PAIRS", "20"))
MOST = 400
"""So many axes of a program are checked without that."""
GOOD = {"gone", "held", "part of the program"}


def check_all(text: str) -> int:
    """Every first chain begins at an annotation in the text, along a dimension with the axis."""
    given = annotations(parse_module(text))
    explainer = explained(parse_module(text))
    count = 0
    pairs = [*pairs_of(explainer)]
    if len(pairs) > MOST and PAIRS < 200:
        pairs = random.Random(6).sample(pairs, MOST)
    for pair in pairs:
        root = first_root(explainer, pair)
        assert root is not None, (str(pair.entry), pair)
        annotation = written(root)
        assert annotation in given, (str(pair.entry), pair, annotation)
        assert (root.dimension, root.axis.name) in given[annotation], (str(pair.entry), pair, annotation)
        count += 1
    return count


def test_corpus(corpus_program: str, corpus: Callable[[str], str]) -> None:
    assert check_all(corpus(corpus_program)) > 0


@pytest.mark.parametrize("seed", range(30))
def test_random_program(seed: int) -> None:
    check_all(random_program(seed))


@pytest.mark.parametrize("seed", [331, 653, 1353, 1623, 5086, 5110, 5462, *range(9000, 9012)])
def test_program_of_all_op_families(seed: int) -> None:
    """The first ones have axes that a pass moved to another dimension, functions and calls that it copied."""
    check_all(wide_program(random.Random(seed), Width(named=seed % 2 == 0)))


@pytest.mark.slow
@pytest.mark.skipif(not corpus_names(), reason=NO_CORPUS)
def test_without_the_annotation() -> None:
    choice = random.Random(6)
    names = [name for name in corpus_names() if not name.startswith("transformer_train_")]
    outcomes: Counter[str] = Counter()
    for name in names:
        text = corpus_text(name)
        explainer = explained(parse_module(text))
        pairs = [*pairs_of(explainer)]
        share = max(1, round(PAIRS / len(names)))
        for pair in choice.sample(pairs, min(share, len(pairs))):
            found = outcome(text, explainer, pair)
            assert found in GOOD, (name, str(pair.entry), pair.dimension, str(pair.axis), found)
            outcomes[found] += 1
    print(dict(outcomes))
    assert outcomes["gone"] > 0


@pytest.mark.parametrize("seed", range(40, 52))
def test_without_the_annotation_of_a_random_program(seed: int) -> None:
    text = random_program(seed)
    explainer = explained(parse_module(text))
    pairs = [*pairs_of(explainer)]
    for pair in random.Random(seed).sample(pairs, min(3, len(pairs))):
        found = outcome(text, explainer, pair)
        assert found in GOOD, (str(pair.entry), pair.dimension, str(pair.axis), found)
