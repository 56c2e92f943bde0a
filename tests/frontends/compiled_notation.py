"""How functions that are lowered on eight devices are written: a table, meshes, arguments, constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

FUNCTIONS: dict[str, Callable[[], Any]] = {}


def function(build: Callable[[], Any]) -> Callable[[], Any]:
    """A row of the table: what `build` gives is lowered."""
    FUNCTIONS[build.__name__] = build
    return build


def mesh_of(axis_type: AxisType = AxisType.Auto, **sizes: int) -> Mesh:
    return jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=(axis_type,) * len(sizes))


def grid() -> Mesh:
    return mesh_of(x=4, y=2)


def array(mesh: Mesh, shape: tuple[int, ...], *spec: Any, dtype: Any = jnp.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def constrain(value: Any, mesh: Mesh, *spec: Any) -> Any:
    return lax.with_sharding_constraint(value, NamedSharding(mesh, P(*spec)))
