"""Which ops compute terms of a sum from terms of sums: against numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shardy_py.localize.arithmetic.unreduced_terms import (
    common_axes,
    is_linear,
    reduced_axes,
    without_unreduced,
)
from tests.propagation.notation import MESH, axes, rule, sharding

OPS = {
    "stablehlo.add": np.add,
    "stablehlo.subtract": np.subtract,
    "stablehlo.multiply": np.multiply,
    "stablehlo.divide": np.divide,
    "stablehlo.maximum": np.maximum,
    "stablehlo.power": np.power,
    "stablehlo.negate": np.negative,
    "stablehlo.sine": np.sin,
    "stablehlo.exponential": np.exp,
    "stablehlo.transpose": lambda x: x,
}


@pytest.mark.parametrize("name", OPS)
def test_an_op_is_linear_if_it_computes_terms_from_terms(name: str) -> None:
    function = OPS[name]
    terms = np.array([[3.0, 0.5], [2.0, 2.5]])  # [operand, device]
    count = getattr(function, "nin", 1)
    for flags in product((False, True), repeat=count):
        if not any(flags):
            continue
        whole = [terms[i].sum() if flag else terms[i, 0] for i, flag in enumerate(flags)]
        made = [function(*(terms[i, d if f else 0] for i, f in enumerate(flags))) for d in range(2)]
        assert is_linear(name, flags) is bool(np.isclose(sum(made), function(*whole))), flags


def test_reduced_axes_shard_reduced_factors() -> None:
    dot = rule("ik, kj -> ij, i=8, j=4, k=8", reduction="k")
    found = reduced_axes(dot, (sharding("[{a}, {b}]"), sharding("[{b}, {c}]")))
    assert set(found) == set(axes("b"))
    assert not reduced_axes(dot, (sharding("[{a}, {}]"), None))


def test_common_axes_of_sub_axes() -> None:
    assert common_axes(axes("b, c"), axes("b:(1)2"), MESH) == axes("b:(1)2")
    assert common_axes(axes("b:(2)2"), axes("b:(1)2"), MESH) == ()
    assert common_axes(axes("c, a"), axes("a, c"), MESH) == axes("a, c")


def test_only_reduced_dimensions_keep_unreduced_axes() -> None:
    dot = rule("ik, kj -> ij, i=8, j=4, k=8", reduction="k")
    given = sharding("[{a, c}, {b}]"), sharding("[{b}, {t}]")
    assert without_unreduced(dot, given, axes("a, b")) == [sharding("[{c}, {b}]"), given[1]]
