"""The rows of combiners against arithmetic, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i1, i8

from shardy_py.localize.identities import encoded
from shardy_py.ops import COMBINERS, REDUCTIONS, TABLE, Combiner, Identity
from shardy_py.ops.compute.combining import identity_of

FLOATS = ("sum", "product", "max", "min")
VALUES = {
    "?": (i1, np.array([False, True])),
    "i1": (i8, np.array([-128, -3, -1, 0, 1, 127], np.int8)),
    "f4": (f32, np.array([-np.inf, -2.5, 0, 3, np.inf], np.float32)),
}
CASES = [
    (row, kind) for row in COMBINERS.values() for kind in VALUES if kind != "f4" or row.reduction in FLOATS
]


@pytest.mark.parametrize(("row", "kind"), CASES, ids=lambda each: getattr(each, "reduction", each))
def test_identities_change_no_value(row: Combiner, kind: str) -> None:
    element, values = VALUES[kind]
    data = encoded(row.identity, element)
    assert data is not None
    (written,) = np.frombuffer(data, np.uint8).astype(bool) if kind == "?" else np.frombuffer(data, kind)
    for identity in (identity_of(row.ufunc, values.dtype), written):
        assert (row.ufunc(values, identity).astype(values.dtype) == values).all()
        assert (row.ufunc(identity, values).astype(values.dtype) == values).all()


@pytest.mark.parametrize("row", COMBINERS.values(), ids=COMBINERS)
def test_columns_are_as_arithmetic_says(row: Combiner) -> None:
    values = VALUES["i1"][1]
    assert (row.ufunc(values, values) == values).all() == row.is_idempotent
    if row.reduction in FLOATS:
        a, b, c = np.random.default_rng(0).random((3, 100), np.float32)
        assert (row.ufunc(row.ufunc(a, b), c) != row.ufunc(a, row.ufunc(b, c))).any() == row.rounds
    if row.terms:  # the same on booleans, and on all types if sdy names the combiner
        terms = COMBINERS[row.terms]
        assert terms.is_operator
        a, b = (np.array(each) for each in ([False, False, True, True], [False, True, False, True]))
        assert (row.ufunc(a, b) == terms.ufunc(a, b)).all()
    assert TABLE[row.op].combiner is row


def test_reductions_have_the_numbers_of_sdy() -> None:
    assert REDUCTIONS == ("sum", "max", "min")
    assert [COMBINERS[name].mnemonic for name in REDUCTIONS] == ["add", "maximum", "minimum"]


def test_and_and_or_are_free_of_order_for_booleans_only() -> None:
    found = {name: (row.is_order_free("i1"), row.is_order_free("i32")) for name, row in COMBINERS.items()}
    assert found == {
        **dict.fromkeys(FLOATS, (True, True)),
        "and": (True, False),
        "or": (True, False),
        "xor": (False, False),
    }
    assert {row.identity for row in COMBINERS.values()} == set(Identity)
