"""Ops that the longest chain connects, beside those that a search finds in random graphs."""

from __future__ import annotations

from random import Random

import pytest

from shardy_py.xla.targets.gpu.longest_chain import LongestChain


def random_graph(random: Random, count: int) -> dict[int, list[int]]:
    """The users of ops, each of which reads some of the last ones before it."""
    users: dict[int, list[int]] = {}
    for number in range(1, count):
        for value in {random.randrange(max(0, number - 6), number) for _ in range(random.randrange(3))}:
            users.setdefault(value, []).append(number)
    return users


def needing(users: dict[int, list[int]], start: int) -> set[int]:
    """The ops that need one."""
    found, left = set[int](), [start]
    while left:
        for user in users.get(left.pop(), ()):
            if user not in found:
                found.add(user)
                left.append(user)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_an_op_needs_another_that_the_chain_connects_it_with(seed: int) -> None:
    count = 40
    users = random_graph(Random(seed), count)
    chain = LongestChain(users, count)
    for first in range(count):
        needs_first = needing(users, first)
        connected = {other for other in range(count) if other != first and chain.connects(first, other)}
        assert connected <= needs_first


@pytest.mark.parametrize("layers", [1, 30])
def test_the_chain_connects_ops_beside_it_in_different_layers(layers: int) -> None:
    # By layer: x -> beside -> y, x -> first -> second -> y, where y is the x of the next layer.
    users: dict[int, list[int]] = {}
    for x in range(0, 4 * layers, 4):
        users |= {x: [x + 1, x + 2], x + 1: [x + 4], x + 2: [x + 3], x + 3: [x + 4]}
    chain = LongestChain(users, 4 * layers + 1)
    assert all(chain.connects(1, x + 1) for x in range(4, 4 * layers, 4))
    assert not chain.connects(1, 2)
    assert not chain.connects(2, 1)


def test_a_graph_without_ops_has_a_chain() -> None:
    LongestChain({}, 0)
