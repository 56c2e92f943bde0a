"""Expressions: both sides of every operator, enumerated; interning; text."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from shardy_py.indexing import constant, dim, parse_expr, range_var, runtime

VALUES = range(-6, 7)
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_with_a_constant_on_either_side(sign: str) -> None:
    d0 = dim(0)
    for number in VALUES:
        left, right = OPERATORS[sign](number, d0), OPERATORS[sign](d0, number)
        for value in VALUES:
            assert left.evaluate({d0: value}) == OPERATORS[sign](number, value)
            assert right.evaluate({d0: value}) == OPERATORS[sign](value, number)


@pytest.mark.parametrize("divisor", [1, 2, 3, 8])
@pytest.mark.parametrize("shift", [-5, 0, 1, 8])
@pytest.mark.parametrize("factor", [-4, -1, 1, 2, 3, 8])
def test_divisions(divisor: int, shift: int, factor: int) -> None:
    d0 = dim(0)
    dividend = d0 * factor + shift
    for value in VALUES:
        number, point = value * factor + shift, {d0: value}
        assert (dividend // divisor).evaluate(point) == number // divisor
        assert (dividend % divisor).evaluate(point) == number % divisor
        assert dividend.ceildiv(divisor).evaluate(point) == -(-number // divisor)


def test_equal_expressions_are_one_object() -> None:
    d0, s0 = dim(0), range_var(0)
    assert (d0 + s0) * 2 is 2 * s0 + d0 * 2
    assert d0 + 1 - 1 is d0
    assert (d0 * 4 + 8) // 4 is d0 + 2
    assert (d0 // 2) // 3 is d0 // 6
    assert d0 - d0 is constant(0)


@pytest.mark.parametrize(
    "text",
    [
        "-d0 + 5",
        "d0 - rt0",
        "d0 * 8 + d1",
        "d1 * 7 + 3",
        "d2 + (d1 mod 2) * 4",
        "d1 floordiv 4 + (d0 mod 2) * 2",
        "-((d0 * -11 - d1 + 109) floordiv 11) + 9",
        "((d0 * 100 + d1) mod 100) floordiv 10",
        "d0 + s0 ceildiv 3 - 7",
        "d0 - d1 floordiv 2",
        "0",
        "-3",
    ],
)
def test_text_is_read_back(text: str) -> None:
    assert str(parse_expr(text)) == text


def test_a_minus_binds_tighter_than_a_division() -> None:
    assert parse_expr("-d0 floordiv 2") is (-dim(0)) // 2
    assert parse_expr("-(d0 floordiv 2)") is -(dim(0) // 2)


def test_what_is_not_affine_is_refused() -> None:
    with pytest.raises(ValueError, match="the product of d0 and rt0 is not affine"):
        _ = dim(0) * runtime(0)
    with pytest.raises(ValueError, match="mod by 0: the divisor must be positive"):
        _ = dim(0) % 0
