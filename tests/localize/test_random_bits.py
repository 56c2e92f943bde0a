"""Generators of random bits on simulated devices: parts have the bits of the whole program, states advance.

The oracle is the interpreter on the whole op (tests/ops/compute/test_random.py compares it with XLA).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.localize.arithmetic.random_bits import random_part
from tests.conftest import examples
from tests.localize.windowed import Array, compare, tensor

Case = tuple[str, list[Array]]
MOST = 2**64 - 1
STATES = ((3, 5, 7), (7, MOST - 2, MOST), (MOST, MOST, 0))
ELEMENTS = ("ui8", "i16", "ui32", "f32", "i64", "i4")


def program(
    algorithm: str,
    shape: tuple[int, ...],
    axes: tuple[str, ...],
    element: str,
    words: int,
    kind: str = "ui64",
) -> str:
    """One generator on a mesh of axes "a"=2, "b"=3, "c"=4."""
    state, bits = tensor((words,), kind), tensor(shape, element)
    dimensions = ", ".join(f'{{"{axis}"}}' if axis != "-" else "{}" for axis in axes)
    return f"""sdy.mesh @mesh = <["a"=2, "b"=3, "c"=4]>
func.func @main(%state: {state}) -> ({state}, {bits}) {{
  %0, %1 = stablehlo.rng_bit_generator %state, algorithm = {algorithm}
    {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{}}]>, <@mesh, [{dimensions}]>]>}}
    : ({state}) -> ({state}, {bits})
  return %0, %1 : {state}, {bits}
}}
"""


@st.composite
def generators(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    axes = tuple(draw(st.permutations("abc-"))[:rank])
    algorithm = draw(st.sampled_from(("THREE_FRY", "PHILOX")))
    words = 2 if algorithm == "THREE_FRY" else draw(st.sampled_from((2, 3)))
    kind = draw(st.sampled_from(("ui64", "i64")))
    text = program(algorithm, shape, axes, draw(st.sampled_from(ELEMENTS)), words, kind)
    return text, [np.array(draw(st.sampled_from(STATES))[:words], np.uint64).view(kind.replace("i", "int"))]


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(generators())
def test_parts_have_the_bits_of_the_whole(case: Case) -> None:
    """All ranks, sizes, states that overflow, and widths of elements."""
    text, inputs = case
    _, warnings = compare(text, inputs)
    assert not warnings


@pytest.mark.parametrize(
    ("algorithm", "shape", "axes", "element", "is_range"),
    [
        ("THREE_FRY", (8, 6), "a-", "ui32", True),
        ("THREE_FRY", (9, 6), "b-", "ui32", True),
        ("THREE_FRY", (10,), "a", "ui32", True),  # parts of 5: they share a counter
        ("THREE_FRY", (4, 6), "-b", "ui32", False),
        ("THREE_FRY", (4, 6), "cb", "ui64", True),  # a row each
        ("PHILOX", (8, 6), "a-", "ui16", True),
        ("PHILOX", (9, 5), "b-", "ui32", True),  # parts of 15
        ("PHILOX", (4, 24), "-b", "ui32", False),
        ("PHILOX", (4, 7), "-a", "ui64", False),
    ],
)
def test_ranges_of_counters(
    algorithm: str, shape: tuple[int, ...], axes: str, element: str, is_range: bool
) -> None:
    """The generator itself makes the bits of a part whose counters follow each other."""
    state = np.array((3, MOST, 7)[:2], np.uint64)
    ops, _ = compare(program(algorithm, shape, tuple(axes), element, 2), [state])
    assert ops.count("stablehlo.rng_bit_generator") == is_range
    assert ("stablehlo.xor" in ops) != is_range
    assert "collective" not in ops


def test_work_of_a_part() -> None:
    """Devices encrypt as many counters as their parts have, and at most one more along a dimension."""
    assert random_part("THREE_FRY", (64, 64), (8, 1), 32).count == 64 * 64 // 16
    assert random_part("THREE_FRY", (64, 63), (1, 7), 32).count == 64 * 9 // 2
    assert random_part("THREE_FRY", (30, 8), (2, 1), 32).count == 8 * 8
    assert random_part("PHILOX", (64, 64), (8, 1), 32).count == 64 * 64 // 32
    assert random_part("PHILOX", (64, 64), (1, 4), 32).count == 64 * 64 // 16
    assert random_part("PHILOX", (6, 5), (2, 1), 32).count == 5
    assert random_part("PHILOX", (4, 6), (1, 2), 32).count == 12  # a counter an element: 3 in each of 4 rows


def test_unsafe_generators_are_left() -> None:
    """On demand each device generates a part as if it were the whole tensor."""
    from shardy_py.localize.permutation_factors import resolve_permutation_factors
    from shardy_py.mlir.dialects import parse_module
    from shardy_py.passes.options import ResolvePermutationFactorsOptions

    module = parse_module(program("PHILOX", (8,), ("a",), "ui32", 2), "unsafe.mlir")
    resolve_permutation_factors(module, ResolvePermutationFactorsOptions(rng_bit_generator_unsafe=True))
    assert not any(op.name == "sdy.manual_computation" for op in module.walk())
