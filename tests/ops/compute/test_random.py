"""Random bits against XLA; the numbers of rng by their distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardy_py.api import Program
from shardy_py.ops.compute import compute_of
from shardy_py.ops.compute.random import seeded
from tests.frontends.run_stablehlo import run
from tests.ops.compute.against_jax import compare, run_text
from tests.ops.examples import op, t

SHAPES = ((), (1,), (5,), (3, 5), (3, 4, 6), (2, 0, 3), (7, 1, 3), (70_001,))
MOST = 2**64 - 1


@pytest.mark.parametrize("algorithm", ["RNG_DEFAULT", "RNG_THREE_FRY"])
@pytest.mark.parametrize(
    "dtype", [np.uint8, pytest.param(np.uint16, marks=pytest.mark.slow), np.uint32, np.uint64]
)
def test_bits_of_xla(algorithm: str, dtype: Any) -> None:
    """Odd and even sizes, the counters of more than one block, and one that overflows; DEFAULT is PHILOX."""
    lax: Any = pytest.importorskip("jax.lax", reason="JAX is not installed")
    state = np.array([[3, 5], [MOST, 1 << 40], [1, MOST]], np.uint64)

    def generate(state: Any) -> Any:
        kind = getattr(lax.RandomAlgorithm, algorithm)
        return [lax.rng_bit_generator(state, shape, dtype, kind) for shape in SHAPES]

    compare(generate, state, rtol=0, atol=0, x64=True)


@pytest.mark.parametrize("element", ["i16", "ui64", "f32"])
def test_state_with_a_counter_of_128_bits(element: str) -> None:
    types = f"(tensor<3xui64>, tensor<5x{element}>)"
    text = f"""func.func @main(%state: tensor<3xui64>) -> {types} {{
      %0:2 = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> {types}
      return %0#0, %0#1 : {types[1:-1]}
    }}"""
    state = np.array([[3, 5, 7], [3, MOST, 7]], np.uint64)
    program = Program.parse(text)
    got = run_text(text, state)
    for lane in range(2):
        for mine, expected in zip(got, run(program, [state[lane]]), strict=True):
            assert mine[lane].tobytes() == expected.tobytes()


def draw(distribution: str, first: Any, second: Any, *shape: int, element: str = "f32") -> Any:
    record = op("stablehlo.rng", (), (t(*shape, element=element),), rng_distribution=distribution)
    bounds = (
        np.array(value, np.float64).astype(element.replace("f", "float").replace("i", "int"))
        for value in (first, second)
    )
    return compute_of(record)(record, *bounds, np.array([shape]))


def test_rng() -> None:
    """Uniform numbers are within their bounds, which differ between lanes; normal ones have their mean."""
    with seeded(1):
        low = draw("UNIFORM", [0, 100], [1, 101], 3000)
        whole = draw("UNIFORM", [-3], [2], 3000, element="i8")
        normal = draw("NORMAL", [5], [2], 3000)
        again = draw("NORMAL", [5], [2], 3000)
    assert low.dtype == np.float32
    assert low.shape == (2, 3000)
    assert ((low >= [[0], [100]]) & (low <= [[1], [101]])).all()
    assert set(whole[0].tolist()) == {-3, -2, -1, 0, 1}
    assert abs(normal.mean() - 5) < 0.2
    assert abs(normal.std() - 2) < 0.2
    assert (normal != again).any()
    with seeded(1):
        assert (draw("UNIFORM", [0, 100], [1, 101], 3000) == low).all()


@pytest.mark.parametrize(("implementation", "words"), [("threefry2x32", 2), ("rbg", 4), ("unsafe_rbg", 4)])
def test_numbers_of_jax(implementation: str, words: int) -> None:
    """Keys, bits and integers are JAX's for both kinds of generators; normal numbers but for rounding."""
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("scipy", reason="scipy is not installed")
    data = np.array([[1, 2, 3, 4], [5, 6, 7, 1 << 31]], np.uint32)[:, :words]

    def draw(data: Any) -> Any:
        key, other = jax.random.split(jax.random.wrap_key_data(data, impl=implementation))
        random = jax.random
        drawn = [random.bits(key, (5,)), random.permutation(other, 9), random.randint(other, (3, 5), -7, 9)]
        return [random.key_data(other), *drawn]

    def normal(data: Any) -> Any:
        return jax.random.normal(jax.random.wrap_key_data(data, impl=implementation), (3, 5))

    compare(draw, data, rtol=0, atol=0)
    compare(normal, data)
