"""How users shard the parameters of a model over 8 devices, and a training step of any model and optimizer.

The sets of programs (`flax_models.py`, `equinox_models.py`, `parallel_models.py`) share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MESHES: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "8": ((8,), ("x",)),
    "2x4": ((2, 4), ("x", "y")),
    "4x2": ((4, 2), ("x", "y")),
    "2x2x2": ((2, 2, 2), ("x", "y", "z")),
}


class Placed:
    """Shapes of arrays with shardings over one mesh."""

    def __init__(self, mesh: str) -> None:
        import jax
        from jax.sharding import AxisType

        sizes, axes = MESHES[mesh]
        self.mesh = jax.make_mesh(sizes, axes, axis_types=(AxisType.Auto,) * len(axes))

    def at(self, *spec: Any) -> Any:
        from jax.sharding import NamedSharding, PartitionSpec

        return NamedSharding(self.mesh, PartitionSpec(*spec))

    def array(self, shape: tuple[int, ...], *spec: Any, dtype: Any = "float32") -> Any:
        import jax

        return jax.ShapeDtypeStruct(shape, dtype, sharding=self.at(*spec))

    def tree(self, shapes: Any, style: str) -> Any:
        """The leaves of a tree of shapes, sharded in a style."""
        import jax

        return jax.tree.map(
            lambda leaf: self.array(leaf.shape, *self.spec(leaf.shape, style), dtype=leaf.dtype), shapes
        )

    def spec(self, shape: tuple[int, ...], style: str) -> tuple[Any, ...]:
        """The dimensions of a parameter in a style.

        data: whole. fsdp: the largest dimension along x. tensor: the last dimension of matrices along y.
        both: the last along y and the one before along x.
        """
        sizes = dict(self.mesh.shape)
        spec: list[Any] = [None] * len(shape)
        if style == "fsdp" and shape:
            fitting = [d for d, size in enumerate(shape) if size % sizes["x"] == 0]
            if fitting:
                spec[max(fitting, key=lambda d: shape[d])] = "x"
        if style in ("tensor", "both") and len(shape) > 1 and shape[-1] % sizes["y"] == 0:
            spec[-1] = "y"
        if style == "both" and len(shape) > 1 and shape[-2] % sizes["x"] == 0:
            spec[-2] = "x"
        return tuple(spec)


def trained(loss: Callable[..., Any], optimizer: Any = None) -> Callable[..., Any]:
    """A step of training: by the optimizer of optax (parameters, state, rest), else by plain descent."""
    import jax

    def descend(params: Any, *rest: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, *rest)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    def step(params: Any, state: Any, *rest: Any) -> Any:
        import optax

        value, grads = jax.value_and_grad(loss)(params, *rest)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    return step if optimizer else descend


Program = tuple[Callable[..., Any], list[Any], Any]
Programs = Iterator[tuple[str, Program]]


def adam_step(loss: Any, weights: Any, first: Any, second: Any, tokens: Any) -> Any:
    """A step of Adam on the weights and their moments, which keep the types of the weights."""
    import jax
    import jax.numpy as jnp

    value, grads = jax.value_and_grad(loss)(weights, tokens)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, grads)

    def updated(w: Any, m: Any, v: Any) -> Any:
        return (w - 1e-3 * m / (jnp.sqrt(v) + 1e-8)).astype(w.dtype)

    return jax.tree.map(updated, weights, first, second), first, second, value
