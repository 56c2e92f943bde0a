"""Axes of dimensions of several factors, against the elements that parts of the factors hold."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.reshard.compound_dimensions import compound_factors, divided_prefix, evenly_divided
from shardy_py.sharding import AxisRef, Mesh, MeshAxis
from shardy_py.sharding.rule import Factor, ShardingRule
from tests.propagation.notation import sharding

SIZES = st.sampled_from((1, 2, 3, 4, 5, 6, 8))


def _is_even(parts: list[int], sizes: list[int]) -> bool:
    """Whether digits of the mixed radix number `parts` are digits of the index into factors of `sizes`.

    The parts of each axis must be runs of one length, within each value of the factors before.
    """
    index = np.arange(prod(sizes)).reshape(sizes)
    blocks = [index]
    position = 0
    for count in parts:
        left = count
        while left > 1:
            if position == len(sizes):
                return False
            size = blocks[0].shape[position]
            if size == 1:
                position += 1
                continue
            step = min(left, size)
            if left % step or size % step:
                return False
            blocks = [piece for block in blocks for piece in np.split(block, step, axis=position)]
            left //= step
    return all(np.ptp(block.ravel()) == block.size - 1 for block in blocks)


@given(st.lists(st.sampled_from((2, 3, 4)), min_size=1, max_size=3), st.lists(SIZES, min_size=1, max_size=3))
def test_the_prefix_is_the_longest_that_divides_evenly(parts: list[int], sizes: list[int]) -> None:
    names = "xyz"[: len(parts)]
    mesh = Mesh(tuple(map(MeshAxis, names, parts)))
    axes = tuple(map(AxisRef, names))
    found = divided_prefix(axes, sizes, mesh)
    assert found == axes[: len(found)]
    even = [_is_even(parts[:count], sizes) for count in range(len(parts) + 1)]
    assert len(found) == next((i for i, flag in enumerate(even) if not flag), len(even)) - 1


def test_a_compound_factor_is_even_also_where_it_is_alone() -> None:
    mesh = Mesh.of(a=3, b=2)
    rule = ShardingRule(
        factors=(Factor(2), Factor(3), Factor(8)), operands=(((0,), (2,)),), results=(((0, 1), (2,)),)
    )
    assert compound_factors(rule) == {0, 1}
    given = sharding("[{a}, {b}]"), sharding("[{b}, {a}]")
    made = evenly_divided(rule, given, compound_factors(rule), mesh)
    assert made == (sharding("[{}, {b}]"), sharding("[{b}, {a}]"))
