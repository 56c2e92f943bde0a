"""The field in float64 against Python's integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.run.proof.field import ufuncs
from shardy_py.run.proof.field.residues import ORDERS, Order, Residues
from shardy_py.run.proof.field.ufuncs import FieldUfunc
from tests.conftest import examples

PRIME = 2147483579
INTEGERS = st.integers(-(PRIME - 1), PRIME - 1)
FIELDS = [Residues(PRIME, order) for order in ORDERS]


def is_residue(value: float, wanted: int, field: Residues) -> bool:
    low = {"middle": -(PRIME // 2), "lowest": -(1 << 20), "highest": 1 - PRIME + (1 << 20)}[field.order]
    return int(value) == value and (int(value) - wanted) % PRIME == 0 and low <= value < low + PRIME


@pytest.mark.parametrize("field", FIELDS, ids=ORDERS)
@given(left=st.lists(INTEGERS, min_size=1, max_size=9), right=INTEGERS)
@settings(max_examples=examples(50), deadline=None)
def test_ring(field: Residues, left: list[int], right: int) -> None:
    x, y = field.arranged(np.array(left, np.float64)), field.arranged(np.array([right], np.float64))
    for value, sum_, difference, product, negative in zip(
        left, field.add(x, y), field.subtract(x, y), field.multiply(x, y), field.negative(x), strict=True
    ):
        assert is_residue(sum_, value + right, field)
        assert is_residue(difference, value - right, field)
        assert is_residue(product, value * right, field)
        assert is_residue(negative, -value, field)


@pytest.mark.parametrize("field", FIELDS, ids=ORDERS)
@given(values=st.lists(st.integers(1, PRIME - 1), min_size=1, max_size=9))
@settings(max_examples=examples(50), deadline=None)
def test_inverses_and_products(field: Residues, values: list[int]) -> None:
    x = field.arranged(np.array(values, np.float64))
    for value, inverse in zip(values, field.inverse(x), strict=True):
        assert is_residue(inverse, pow(value, -1, PRIME), field)
    product = 1
    for value in values:
        product = product * value % PRIME
    assert is_residue(FieldUfunc(field, np.multiply).reduce(x), product, field)
    assert is_residue(FieldUfunc(field, np.add).accumulate(x)[-1], sum(values), field)


@pytest.mark.parametrize("field", FIELDS, ids=ORDERS)
@pytest.mark.parametrize("terms", [1, 5, 5000])
def test_matmul(field: Residues, terms: int) -> None:
    random = np.random.default_rng(terms)
    left, right = field.uniform(random, (2, terms)), field.uniform(random, (terms, 3))
    right[0] = left[:, 0][0] if field.order == "middle" else field.arranged(np.array(1.0 - PRIME // 2))
    product = field.matmul(left, right)
    for i, j in np.ndindex(2, 3):
        wanted = sum(int(a) * int(b) for a, b in zip(left[i], right[:, j], strict=True))
        assert is_residue(product[i, j], wanted, field)


@pytest.mark.parametrize("field", FIELDS, ids=ORDERS)
@given(value=st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=examples(100), deadline=None)
def test_constants_are_a_homomorphism(field: Residues, value: float) -> None:
    exact = Fraction(value)
    wanted = exact.numerator * pow(exact.denominator, -1, PRIME)
    assert is_residue(field.encoded(np.array([value]))[0], wanted, field)


def test_complex_numbers_are_a_field() -> None:
    field = FIELDS[0]
    x = np.array([3 + 4j, 5.0, 7j])
    assert field.multiply(x, field.inverse(x)).tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("order", ORDERS)
def test_what_is_not_finite_is_numpys(order: Order) -> None:
    field = Residues(PRIME, order)
    infinities = np.array([np.inf, -np.inf, np.nan])
    one = field.encoded(np.ones(3))
    assert np.array_equal(field.add(infinities, one), infinities, equal_nan=True)
    assert field.divide(one, infinities).tolist()[:2] == [0, 0]
    assert field.encoded(infinities)[:2].tolist() == [np.inf, -np.inf]


def test_small_numbers_are_decoded() -> None:
    for field in FIELDS:
        values = np.array([0.5, -3.25, 65536.0, 0.0])
        near, found = field.decoded(field.encoded(values))
        assert near.all()
        assert found.tolist() == values.tolist()


def test_primes_are_random_and_none_is_mersennes() -> None:
    primes = {Residues.random(np.random.default_rng(seed), "middle").prime for seed in range(20)}
    assert len(primes) == 20
    assert all(prime % 4 == 3 and prime != 2**31 - 1 for prime in primes)


def test_long_sums_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ufuncs, "MOST_TERMS", 50)
    monkeypatch.setattr(ufuncs, "_CHUNK", 8)
    field = Residues(PRIME, "lowest")
    array = np.full((7, 60), float(PRIME - 1))
    total = FieldUfunc(field, np.add)
    assert total.reduce(array, (0, 1)) == -420
    assert total.reduce(array, 1).tolist() == [-60] * 7
    assert total.accumulate(array, 1)[0].tolist() == [-1 - k for k in range(60)]
    into = np.zeros(2)
    total.at(into, np.array([0, 1] * 120), np.full(240, float(PRIME - 1)))
    assert into.tolist() == [-120] * 2


def test_sums_beyond_the_integers_of_float64_are_exact() -> None:
    integers = np.random.default_rng(0).integers(PRIME // 2, PRIME, (3, (1 << 22) + 1)) | 1
    field = Residues(PRIME, "lowest")
    found = FieldUfunc(field, np.add).reduce(integers.astype(np.float64), (0, 1))
    assert int(found) == int(integers.sum()) % PRIME
