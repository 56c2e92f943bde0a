"""Passes by structure: products of traced training steps are in the pass that JAX's names say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shardy_py import Program
from shardy_py.mlir.location_names import name_stack
from shardy_py.mlir.symbols import Symbols
from shardy_py.report.training_step import BACKWARD, FORWARD, UPDATE, passes_of_program

STEP = """
func.func @main(%w: tensor<4x8xf32>, %x: tensor<16x4xf32>, %y: tensor<16x8xf32>) -> RESULTS {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.subtract %0, %y : tensor<16x8xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0]
    : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.constant dense<0.1> : tensor<4x8xf32>
  %4 = stablehlo.multiply %3, %2 : tensor<4x8xf32>
  %5 = NEW : tensor<4x8xf32>
  return RETURNED
}
"""


def passes(new: str, types: str = "tensor<4x8xf32>", returned: str = "%5") -> list[str]:
    text = STEP.replace("NEW", new).replace("RESULTS", f"({types})")
    module = Program.parse(text.replace("RETURNED", f"{returned} : {types}")).module
    return [*passes_of_program(module).values()]


def test_a_step_by_hand() -> None:
    assert passes("stablehlo.subtract %w, %4") == [FORWARD, BACKWARD, BACKWARD, UPDATE, UPDATE, UPDATE]


def test_a_result_that_no_gradient_needs_is_forward() -> None:
    more = "stablehlo.tanh %0 : tensor<16x8xf32>\n  %6 = stablehlo.subtract %w, %4"
    found = passes(more, "tensor<4x8xf32>, tensor<16x8xf32>", "%6, %5")
    assert found == [FORWARD, BACKWARD, BACKWARD, UPDATE, UPDATE, FORWARD, UPDATE]


@pytest.mark.parametrize("new", ["stablehlo.tanh %2", "stablehlo.power %w, %4"])
def test_no_new_value_of_an_argument(new: str) -> None:
    assert passes(new) == []


def _steps() -> Iterator[tuple[str, Callable[..., Any], dict[str, tuple[int, ...]], tuple[int, ...]]]:
    """Losses with the shapes of their parameters and of data."""
    import jax
    import jax.numpy as jnp

    def mlp(w: Any, x: Any) -> Any:
        for n in range(2):
            x = jax.nn.gelu(x @ w["up"][n] + w["bias"][n])
        return -jax.nn.log_softmax(x)[:, 0].mean()

    def layers(w: Any, x: Any) -> Any:
        def layer(x: Any, w: Any) -> Any:
            return x + jnp.tanh(x @ w["up"]) @ w["down"], None

        return (jax.lax.scan(layer, x, w)[0] ** 2).mean()

    def images(w: Any, x: Any) -> Any:
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w["a"], (1, 1), "SAME"))
        return (jax.lax.conv_general_dilated(x, w["b"], (2, 2), "SAME") ** 2).mean()

    yield "mlp", mlp, {"up": (2, 32, 32), "bias": (2, 32)}, (64, 32)
    yield "scan", layers, {"up": (4, 32, 64), "down": (4, 64, 32)}, (64, 32)
    yield "conv", images, {"a": (8, 3, 3, 3), "b": (8, 8, 3, 3)}, (16, 3, 8, 8)


def test_products_are_where_names_say() -> None:
    """With Adam, whose states are new values of arguments, too."""
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    import jax

    for name, loss, shapes, data in _steps():

        def step(w: Any, m: Any, v: Any, x: Any, loss: Any = loss) -> Any:
            value, g = jax.value_and_grad(loss)(w, x)
            m, v = (
                jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g),
                jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g),
            )
            return jax.tree.map(lambda w, m, v: w - m / (v**0.5 + 1e-8), w, m, v), m, v, value

        w = {key: jax.ShapeDtypeStruct(shape, "float32") for key, shape in shapes.items()}
        traced = jax.jit(step).lower(w, w, w, jax.ShapeDtypeStruct(data, "float32"))
        module = Program.from_jax(traced).module
        found = passes_of_program(module)
        assert Symbols(module).function("main").body.blocks[0].first_op in found
        products = [op for op in found if op.name.split(".")[1] in ("dot_general", "convolution", "while")]
        named = [BACKWARD if "transpose(" in name_stack(op.location) else FORWARD for op in products]
        assert {*named} == {FORWARD, BACKWARD}, name
        assert [found[op] for op in products] == named, name
        assert UPDATE in found.values()
