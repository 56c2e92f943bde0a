"""Random functions of JAX: a few ops after each other, randomly sharded; a seed gives the same one again.

python -m tests.frontends.compiled_random FIRST END       those of seeds FIRST to END - 1
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from tests.frontends.compiled import print_compared

AXES = ("x", "y", "z")
SIZES = (4, 8, 16, 6)
LARGEST = 200_000
"""How many elements a value may have for further ops to use it."""

Op = Callable[[random.Random, Any], Any]


def along(op: Callable[..., Any]) -> Op:
    """An op along one of the dimensions."""
    return lambda draw, a: op(a, axis=draw.randrange(a.ndim))


def halved(a: Any, axis: int) -> Any:
    return lax.slice_in_dim(a, 0, max(1, a.shape[axis] // 2), axis=axis)


def shuffled(draw: random.Random, a: Any) -> Any:
    order = list(range(a.ndim))
    draw.shuffle(order)
    return a.transpose(order)


def indices(a: Any) -> Any:
    return a.reshape(-1)[:2].astype(jnp.int32)


def loop_beside(a: Any) -> Any:
    last = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + s[2], s[2]), (0, a, jnp.cos(a)))
    return last[1] * last[2]


def manual(draw: random.Random, a: Any) -> Any:
    spec = P("x") if a.shape[0] % 2 == 0 else P()
    local = partial(
        jax.shard_map, mesh=grid(), in_specs=spec, out_specs=spec, axis_names={"x"}, check_vma=False
    )
    return local(lambda v: v * 2)(a)


OPS: tuple[Op, ...] = (
    lambda _, a: jnp.tanh(a),
    lambda _, a: jnp.where(a > 0, a, jnp.zeros_like(a)) + jax.nn.gelu(a),
    lambda _, a: jax.nn.softmax(a),
    lambda _, a: a.reshape(-1, *a.shape[2:]),
    lambda _, a: a.reshape(4, -1, *a.shape[1:]) if a.shape[0] % 4 == 0 else a[::-1],
    lambda _, a: jnp.pad(a, [(1, 1)] + [(0, 0)] * (a.ndim - 1)),
    lambda _, a: jnp.broadcast_to(a, (8, *a.shape)) if a.ndim < 4 else a[1::2],
    lambda _, a: a @ a.swapaxes(-1, -2) if a.ndim > 1 else jnp.outer(a, a),
    lambda _, a: a.at[0].set(1.0).at[indices(a)].add(2.0),
    lambda _, a: lax.dynamic_slice_in_dim(a, 1, max(1, a.shape[0] // 2), 0),
    lambda _, a: lax.dynamic_update_slice(a, jnp.ones((1, *a.shape[1:])), (1,) + (0,) * (a.ndim - 1)),
    lambda draw, a: lax.dynamic_index_in_dim(a, indices(a)[0], draw.randrange(a.ndim), keepdims=False),
    lambda _, a: lax.top_k(a, min(3, a.shape[-1]))[0],
    lambda _, a: jnp.fft.rfft(a).real,
    lambda _, a: jax.vmap(lambda v: v / (v.sum() + 1))(a),
    lambda _, a: lax.map(lambda v: jnp.sin(v).sum(), a),
    lambda draw, a: lax.scan(lambda c, x: (jnp.tanh(c + x), c * x), a[0], a)[draw.randrange(2)],
    lambda _, a: lax.fori_loop(0, 3, lambda i, v: jnp.sin(v) + a, a),
    lambda _, a: loop_beside(a),
    lambda _, a: lax.cond(a.sum() > 0, lambda v: v * 2, jnp.cos, a),
    lambda _, a: jax.checkpoint(jax.jit(lambda v: jnp.exp(v) * v))(a),
    lambda draw, a: lax.with_sharding_constraint(a, NamedSharding(grid(), random_spec(draw, a.ndim))),
    lambda draw, a: jnp.concatenate([a, a * 2], draw.randrange(a.ndim)),
    lambda draw, a: jnp.take(a, jnp.arange(4) % a.shape[0], axis=draw.randrange(a.ndim), mode="clip"),
    shuffled,
    manual,
    *map(along, (jnp.sum, jnp.sort, jnp.cumsum, jnp.flip, halved, partial(jnp.roll, shift=1))),
    *map(along, (partial(jnp.repeat, repeats=2), partial(jnp.var, keepdims=True))),
    along(lambda a, axis: jnp.argmax(a, axis).astype(jnp.float32)),
    along(lambda a, axis: lax.associative_scan(jnp.add, a, axis=axis)),
)


def grid() -> Any:
    return jax.make_mesh((2, 2, 2), AXES, axis_types=(AxisType.Auto,) * 3)


def random_spec(draw: random.Random, rank: int) -> P:
    left = list(AXES)
    draw.shuffle(left)
    parts = [draw.choice((0, 0, 1, 1, 2)) for _ in range(rank)]
    return P(*(tuple(left.pop() for _ in range(min(part, len(left)))) or None for part in parts))


def random_array(draw: random.Random) -> Any:
    shape = tuple(draw.choice(SIZES) for _ in range(draw.choice((1, 2, 2, 3))))
    while draw.random() < 0.8:
        sharding = NamedSharding(grid(), random_spec(draw, len(shape)))
        try:
            sharding.shard_shape(shape)
        except ValueError:  # JAX takes no arguments that are split unevenly
            continue
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def random_function(seed: int) -> Any:
    """A function of three arrays, lowered."""
    draw = random.Random(seed)
    arrays = [random_array(draw) for _ in range(3)]
    state = draw.getstate()

    def function(*arguments: Any) -> Any:
        draw.setstate(state)
        values = list(arguments)
        for _ in range(draw.randrange(3, 12)):
            value = draw.choice(values)
            if value.ndim:
                value = draw.choice(OPS)(draw, value)
            same = [other for other in values if other.shape == value.shape]
            value = value + draw.choice(same) if same else value
            if 0 < value.size < LARGEST:
                values.append(value)
        return draw.sample(values[3:], len(values) - 3)

    return jax.jit(function).lower(*arrays)


if __name__ == "__main__":
    seeds = range(*map(int, sys.argv[1:]))
    print_compared({str(seed): partial(random_function, seed) for seed in seeds})
