"""Ops that the longest chain connects, beside those that a search finds in random graphs."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from shardy_py import Program, propagate
from shardy_py.xla.targets.gpu.longest_chain import LongestChain
from tests.report.executed_lines import executed_lines


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


@pytest.mark.parametrize("seed", range(20))
def test_the_chain_connects_all_that_its_ops_are_between(seed: int) -> None:
    count = 40
    users = random_graph(Random(seed), count)
    chain = LongestChain(users, count)
    needing_or_same = [needing(users, number) | {number} for number in range(count)]
    longest = [1] * count
    for number in reversed(range(count)):
        longest[number] += max((longest[user] for user in users.get(number, ())), default=0)
    within = [number for number in range(count) if chain.connects(number, number)]
    assert len(within) == max(longest)
    assert all(later in users[op] for op, later in pairwise(within))
    for first in range(count):
        between = [needing_or_same[op] for op in within if op in needing_or_same[first]]
        expected = set[int]().union(*between)
        assert {other for other in range(count) if chain.connects(first, other)} == expected


def _layers(count: int) -> Program:
    """Sums that all read one value, as layers read sines of rotary positions, each of the one before."""
    rows, sums = "tensor<16x64xf32>", "tensor<16xf32>"
    body = [
        line
        for i in range(count)
        for line in (
            f"%a{i} = stablehlo.multiply {f'%x{i - 1}' if i else '%x'}, %sines : {rows}",
            f"%s{i} = stablehlo.reduce(%a{i} init: %c) applies stablehlo.add across dimensions = [1]"
            f" : ({rows}, tensor<f32>) -> {sums}",
            f"%x{i} = stablehlo.broadcast_in_dim %s{i}, dims = [0] : ({sums}) -> {rows}",
        )
    ]
    lines, sharding = "\n".join(body), '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    return Program.parse(f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: {rows} {sharding}, %sines: {rows} {sharding}) -> {rows} {{
%c = stablehlo.constant dense<0.0> : tensor<f32>
{lines}
  return %x{count - 1} : {rows}
}}""")


def test_kernels_of_layers_are_connected_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines() -> int:
        result = propagate(_layers(30), progress=False)
        return executed_lines(
            lambda: result.memory("h100", partitioner="xla").memory_bytes, "targets/gpu/siblings.py"
        )

    with_chain = lines()
    monkeypatch.setattr(LongestChain, "connects", lambda *_: False)
    assert 2 * with_chain < lines()


def test_a_graph_without_ops_has_a_chain() -> None:
    LongestChain({}, 0)
