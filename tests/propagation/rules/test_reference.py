"""Rules against the reference: C++ Shardy of jaxlib, on random ops of every family and on the corpus."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardy_py.ops import OpRecord
from shardy_py.propagation.rules import derive_rule
from tests.conftest import corpus_text, examples
from tests.differential.reference_process import ReferenceProcess
from tests.propagation.rules import reference
from tests.propagation.rules.instances import FAMILIES
from tests.propagation.rules.program import program


def text_of(record: OpRecord, *, conservative: bool) -> str | None:
    rule = derive_rule(record, conservative_propagation=conservative)
    return None if rule is None else str(rule)


@pytest.mark.parametrize("family", FAMILIES)
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(st.data())
def test_random_ops(family: str, process: ReferenceProcess, data: st.DataObject) -> None:
    records = data.draw(st.lists(FAMILIES[family], min_size=1, max_size=25))
    conservative = data.draw(st.booleans())
    expected = process.rules(program(records), conservative=conservative)
    for number, record in enumerate(records):
        assert text_of(record, conservative=conservative) == expected[number], record


@pytest.mark.reference
@pytest.mark.parametrize("conservative", [False, True])
def test_corpus(corpus_program: str, conservative: bool) -> None:
    pytest.importorskip("jaxlib", reason="jaxlib (extra: reference) is not installed")
    checked = 0
    rules: dict[str, str | None] = {}
    for record, expected in reference.with_rules(corpus_text(corpus_program), conservative=conservative):
        key = repr(record)
        if key not in rules:
            rules[key] = text_of(record, conservative=conservative)
        assert rules[key] == expected, record
        checked += expected is not None
    assert checked
