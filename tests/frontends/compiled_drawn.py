"""Shardings of arguments and constraints, as written or drawn at random; for `compiled_models.py`."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

OPEN = P.UNCONSTRAINED
DRAW: list[random.Random] = []
"""What draws shardings, if they are drawn."""


def mesh() -> Any:
    return jax.make_mesh((2, 2, 2), ("data", "fsdp", "model"), axis_types=(AxisType.Auto,) * 3)


def array(shape: tuple[int, ...], *spec: Any, dtype: Any = jnp.float32) -> Any:
    """An argument, sharded when it is lowered."""
    return lambda: (shape, spec, dtype)


def sharded(argument: Any) -> Any:
    shape, spec, dtype = argument()
    if not DRAW:
        sharding = NamedSharding(mesh(), P(*spec)) if spec else None
    else:
        sharding = NamedSharding(mesh(), drawn(shape)) if DRAW[0].random() < 0.7 else None
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def constrain(value: Any, *spec: Any) -> Any:
    if DRAW and DRAW[0].random() < 0.3:
        return value
    chosen = drawn(value.shape, is_constraint=True) if DRAW else P(*spec)
    return lax.with_sharding_constraint(value, NamedSharding(mesh(), chosen))


def drawn(shape: tuple[int, ...], *, is_constraint: bool = False) -> P:
    """Random axes for each dimension; arguments are cut evenly."""
    draw = DRAW[0]
    left = draw.sample(mesh().axis_names, 3)
    parts: list[Any] = [None] * len(shape)
    for dimension in draw.sample(range(len(shape)), len(shape)):
        if is_constraint and draw.random() < 0.25:
            parts[dimension] = OPEN
            continue
        count = min(draw.choice((0, 0, 1, 1, 2)), len(left))
        while count and not is_constraint and shape[dimension] % 2**count:
            count -= 1
        parts[dimension] = tuple(left.pop() for _ in range(count)) or None
    return P(*parts)
