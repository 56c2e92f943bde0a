"""Small functions that work on meshes in all ways: manual, explicit, several, in other orders."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tests.frontends.compiled_notation import array, constrain, function, grid, mesh_of


@function
def specs_under_a_mesh() -> Any:
    mesh = grid()
    with jax.set_mesh(mesh):
        return jax.jit(lambda a: lax.with_sharding_constraint(a * 2, P("y", "x")).sum(0)).lower(
            array(mesh, (64, 32), "x")
        )


@function
def manual() -> Any:
    mesh = grid()

    def local(a: Any, w: Any) -> Any:
        return lax.psum(a @ w, "y"), lax.all_gather(a, "x", tiled=True)

    mapped = jax.shard_map(
        local, mesh=mesh, in_specs=(P("x", "y"), P("y")), out_specs=(P("x"), P(None, "y")), check_vma=False
    )
    return jax.jit(lambda a, w: mapped(jnp.sin(a), w)).lower(array(mesh, (64, 32)), array(mesh, (32, 16)))


@function
def partly_manual() -> Any:
    mesh = grid()
    mapped = jax.shard_map(
        lambda a: a * lax.psum(a.sum(), "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
    )
    return jax.jit(lambda a: mapped(a).T).lower(array(mesh, (64, 32), None, "y"))


@function
def manual_with_calls() -> Any:
    mesh = grid()
    inner = jax.jit(lambda a: jnp.sin(a) @ jnp.ones((a.shape[1], 8)))
    mapped = jax.shard_map(lambda a: inner(inner(a)), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    return jax.jit(lambda a: inner(mapped(inner(a)))).lower(array(mesh, (64, 8), None, "y"))


@function
def explicit_axes() -> Any:
    mesh = mesh_of(AxisType.Explicit, x=4, y=2)
    with jax.set_mesh(mesh):
        return jax.jit(lambda a, b: (jnp.tanh(a @ b), a.T)).lower(
            array(mesh, (64, 32), "x"), array(mesh, (32, 16), None, "y")
        )


@function
def unreduced() -> Any:
    mesh = mesh_of(AxisType.Explicit, x=4, y=2)

    def f(a: Any, b: Any) -> Any:
        sums = jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", None, unreduced={"y"}))
        return jax.sharding.reshard(sums + sums, P("x"))

    with jax.set_mesh(mesh):
        return jax.jit(f).lower(array(mesh, (64, 32), "x", "y"), array(mesh, (32, 16), "y"))


@function
def several_meshes() -> Any:
    mesh, flat = grid(), mesh_of(all=8)

    def f(a: Any, b: Any) -> Any:
        return constrain(a, flat, "all") + 1, (a + b).reshape(-1), constrain(b, mesh, "y", "x")

    return jax.jit(f).lower(array(mesh, (64, 32), ("x", "y")), array(mesh, (64, 32), "x"))


@function
def devices_in_another_order() -> Any:
    devices = np.array(jax.devices())[[3, 1, 0, 2, 7, 6, 5, 4]].reshape(4, 2)
    mesh = Mesh(devices, ("x", "y"))
    return jax.jit(lambda a: (a.T, a.sum(1))).lower(array(mesh, (64, 32), "x", "y"))


@function
def fewer_devices() -> Any:
    mesh = Mesh(np.array(jax.devices()[2:6]).reshape(2, 2), ("x", "y"))
    return jax.jit(lambda a: (a.T, a.sum(1))).lower(array(mesh, (64, 32), "x", "y"))


@function
def axes_of_one_device() -> Any:
    mesh = mesh_of(x=4, one=1, y=2)
    return jax.jit(lambda a: (a.T, constrain(a, mesh, "one", "y"))).lower(
        array(mesh, (64, 32), ("x", "one"), "y")
    )


@function
def memories() -> Any:
    mesh = grid()
    host = NamedSharding(mesh, P("x"), memory_kind="pinned_host")
    return jax.jit(lambda a: (jax.device_put(a * 2, host), a + 1)).lower(array(mesh, (64, 32), "x"))


@function
def mapped_over_an_axis() -> Any:
    mesh = grid()

    def one(v: Any) -> Any:
        return constrain(jnp.sin(v), mesh, "y")

    return jax.jit(jax.vmap(one, spmd_axis_name="x")).lower(array(mesh, (64, 32)))
