"""Rules in einsum-like notation: what they mean, and every way to get them wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.ops import TensorType
from shardy_py.propagation.rules import einsum_rule

RULES: list[tuple[str, list[tuple[int, ...]], list[tuple[int, ...]], dict[str, Any], str]] = [
    (
        "i j, j k -> i k",
        [(2, 3), (3, 5)],
        [(2, 5)],
        {},
        "<([i, j], [j, k])->([i, k]) {i=2, j=3, k=5}, custom>",
    ),
    (" -> ", [()], [()], {}, "<([])->([]), custom>"),
    ("a,b->a b", [(4,), (8,)], [(4, 8)], {}, "<([i], [j])->([i, j]) {i=4, j=8}, custom>"),
    ("...->...", [(4, 8)], [(4, 8)], {}, "<([i, j])->([i, j]) {i=4, j=8}, custom>"),
    ("... i -> ... i", [(7,)], [(7,)], {}, "<([i])->([i]) {i=7}, custom>"),
    (
        "...1 i, ...2 i -> ...1",
        [(2, 3, 4), (5, 4)],
        [(2, 3)],
        {},
        "<([i, j, k], [l, k])->([i, j]) {i=2, j=3, k=4, l=5}, custom>",
    ),
    ("(i j) k -> i j k", [(6, 4)], [(2, 3, 4)], {}, "<([ij, k])->([i, j, k]) {i=2, j=3, k=4}, custom>"),
    (
        "(batch h_1) -> (batch h_1)",
        [(12,)],
        [(12,)],
        {"factor_sizes": {"batch": 3, "h_1": 4}},
        "<([ij])->([ij]) {i=3, j=4}, custom>",
    ),
    ("i, i -> i", [(8,), (4,)], [(6,)], {}, "<([i], [i])->([i]) {i=4}, custom>"),
    (
        "i j k l -> i l",
        [(2, 3, 4, 5)],
        [(2, 5)],
        {"reduction": ["j"], "need_replication": ["k"], "permutation": ["l"]},
        "<([i, j, k, l])->([i, l]) {i=2, j=3, k=4, l=5} "
        "reduction={j} need_replication={k} permutation={l}, custom>",
    ),
]

MISTAKES: list[tuple[str, list[tuple[int, ...]], list[tuple[int, ...]], dict[str, Any], str]] = [
    ("i", [(1,)], [], {}, "There is no -> in rule: 'i'"),
    ("i -> i -> i", [(1,)], [(1,)], {}, "There is no -> in rule"),
    ("i. -> i", [(1,)], [(1,)], {}, "Character '.' must be used inside ellipsis '...'"),
    ("i … -> i", [(1,)], [(1,)], {}, "Unknown character '…'"),
    ("i ... -> i", [(1,)], [(1,)], {}, "Ellipsis can only be used at the beginning of a dimension"),
    ("(... i) -> i", [(1,)], [(1,)], {}, "Ellipsis can only be used at the beginning of a dimension"),
    (
        "((i j)) -> i",
        [(1,)],
        [(1,)],
        {},
        "Compound factors should be one level, nested brackets are not allowed",
    ),
    ("i) -> i", [(1,)], [(1,)], {}, "Brackets are not balanced"),
    ("(i j -> i", [(1,)], [(1,)], {}, "Brackets are not balanced in rule: '(i j'"),
    ("(i) -> i", [(1,)], [(1,)], {}, "Brackets should contain at least two factors"),
    ("2i -> i", [(1,)], [(1,)], {}, "Factor names have to start with a letter, but got '2'"),
    ("_i -> i", [(1,)], [(1,)], {}, "Factor names have to start with a letter, but got '_'"),
    ("i -> i", [(1,), (2,)], [(1,)], {}, "Sharding rule has 1 operands, but the operation has 2 operands"),
    ("i -> i", [(1,)], [(1,), (1,)], {}, "Sharding rule has 1 results, but the operation has 2 results"),
    (
        "i j -> i",
        [(1,)],
        [(1,)],
        {},
        "Sharding rule 0th operand has rank 2, but the operation 0th operand has rank 1",
    ),
    (
        "... i -> ... i",
        [(2, 3)],
        [(2, 2, 3)],
        {},
        "Ellipsis represents different number of leading dimensions 1 and 2",
    ),
    ("... i -> ... i", [(2, 3)], [(4, 3)], {}, "Batching dimension 0_0 corresponds to two sizes: 2 and 4"),
    (
        "i -> i",
        [(2,)],
        [(2,)],
        {"factor_sizes": {"k": 2}},
        "Factor k is not used in the rule, but size is provided",
    ),
    (
        "i -> i",
        [(2,)],
        [(2,)],
        {"factor_sizes": {"i": 2}},
        "Factor i represents a whole dimension; do not specify its size",
    ),
    ("(i j) -> j", [(6,)], [(2,)], {}, "Factor i is only used in compound factors; must specify its size"),
    (
        "(i j) -> i j",
        [(7,)],
        [(2, 3)],
        {},
        "0th operand actual size 7 doesn't match the size 6 derived from the compound factors ('i', 'j')",
    ),
    ("i -> i", [(2,)], [(2,)], {"reduction": ["k"]}, "Factor k in reduction_factors is not used in the rule"),
    (
        "i -> i",
        [(2,)],
        [(2,)],
        {"reduction": ["i"], "permutation": ["i"]},
        "Factor i can only be in one of the factor sets",
    ),
]


@pytest.mark.parametrize(("notation", "operands", "results", "options", "expected"), RULES)
def test_rule(
    notation: str,
    operands: list[tuple[int, ...]],
    results: list[tuple[int, ...]],
    options: dict[str, Any],
    expected: str,
) -> None:
    assert str(einsum_rule(notation, operands, results, **options)) == expected
    types = [[TensorType(shape) for shape in side] for side in (operands, results)]
    assert str(einsum_rule(notation, *types, **options)) == expected


@pytest.mark.parametrize(("notation", "operands", "results", "options", "message"), MISTAKES)
def test_mistake(
    notation: str,
    operands: list[tuple[int, ...]],
    results: list[tuple[int, ...]],
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(ShardyError, match=re.escape(message)):
        einsum_rule(notation, operands, results, **options)
