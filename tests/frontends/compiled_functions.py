"""Small functions, one for each thing that jitted functions can have, lowered on eight devices.

python -m tests.frontends.compiled_functions [NAME ...]
"""

from __future__ import annotations

import sys
from collections import namedtuple
from functools import partial
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from tests.frontends import compiled_meshes
from tests.frontends.compiled import print_compared
from tests.frontends.compiled_notation import FUNCTIONS, array, constrain, function, grid

__all__ = ["FUNCTIONS", "compiled_meshes"]  # whose rows are in the table too

OPEN = P.UNCONSTRAINED
Pair = namedtuple("Pair", "first second")


@function
def nothing_sharded() -> Any:
    return jax.jit(lambda a: (a + 1, a.sum())).lower(jax.ShapeDtypeStruct((8, 8), jnp.float32))


@function
def matrix_product() -> Any:
    mesh = grid()
    return jax.jit(lambda a, b: (a @ b, (a @ b).sum())).lower(
        array(mesh, (64, 32), "x"), array(mesh, (32, 16), None, "y")
    )


@function
def arguments_without_sharding() -> Any:
    mesh = grid()
    return jax.jit(lambda a, b: constrain(a @ b, mesh, "x", "y")).lower(
        jax.ShapeDtypeStruct((64, 32), jnp.float32), jax.ShapeDtypeStruct((32, 16), jnp.float32)
    )


@function
def in_and_out_shardings() -> Any:
    mesh = grid()
    named = partial(NamedSharding, mesh)
    jitted = jax.jit(
        lambda a, b: (a @ b, a.T),
        in_shardings=(named(P("x")), named(P(None, "y"))),
        out_shardings=(named(P("y")), None),
    )
    return jitted.lower(
        jax.ShapeDtypeStruct((64, 32), jnp.float32), jax.ShapeDtypeStruct((32, 16), jnp.float32)
    )


@function
def open_dimensions() -> Any:
    mesh = grid()

    def f(a: Any) -> Any:
        return constrain(jnp.sin(a), mesh, OPEN, None), constrain(a.T, mesh, "y", OPEN)

    return jax.jit(f).lower(array(mesh, (64, 32), "x", "y"))


@function
def uneven_dimensions() -> Any:
    mesh = grid()
    return jax.jit(lambda a: (a[:30], jnp.pad(a, ((1, 1), (0, 0))), a[:, :7])).lower(
        array(mesh, (64, 32), "x", "y")
    )


@function
def donated_and_static() -> Any:
    mesh = grid()

    def update(state: Any, gradient: Any, power: int, *, rate: Any, name: str) -> Any:
        return state - rate * gradient**power if name == "sgd" else state

    jitted = jax.jit(update, donate_argnums=0, static_argnums=2, static_argnames="name")
    return jitted.lower(
        array(mesh, (64, 32), "x"), array(mesh, (64, 32), None, "y"), 2, rate=array(mesh, ()), name="sgd"
    )


@function
def unused_arguments() -> Any:
    mesh = grid()
    unused = array(mesh, (8,), "x")
    return jax.jit(lambda a, u, b, v: a @ b).lower(
        array(mesh, (64, 32), "x"), unused, array(mesh, (32, 16)), {"v": unused}
    )


@function
def kept_unused_arguments() -> Any:
    mesh = grid()
    return jax.jit(lambda a, u: a * 2, keep_unused=True).lower(
        array(mesh, (64, 32), "x"), array(mesh, (8,), "y")
    )


@function
def trees() -> Any:
    mesh = grid()

    def f(tree: Any, pair: Pair, *, more: Any) -> Any:
        return {"a": (pair.first, None, [tree["w"].T]), "b": Pair(pair.second + more[0], more[1])}

    a, w = array(mesh, (64, 32), "x"), array(mesh, (32, 16), None, "y")
    return jax.jit(f).lower({"w": w, "none": None}, Pair(a, w), more=[w, (a,)])


@function
def closures() -> Any:
    mesh = grid()
    weights = jax.device_put(np.ones((32, 16), np.float32), NamedSharding(mesh, P(None, "y")))
    table = np.arange(64, dtype=np.float32)[:, None]
    return jax.jit(lambda a: (a * table) @ weights).lower(array(mesh, (64, 32), "x"))


@function
def nested_jit() -> Any:
    mesh = grid()
    inner = jax.jit(lambda a, b: jnp.tanh(a @ b), out_shardings=NamedSharding(mesh, P(None, "y")))
    shared = jax.jit(lambda a: jnp.sin(a) + 1)
    return jax.jit(lambda a, b: (shared(inner(a, b)), shared(a), shared(a @ b))).lower(
        array(mesh, (64, 32), "x"), array(mesh, (32, 32))
    )


@function
def loops() -> Any:
    mesh = grid()

    def f(a: Any, w: Any, count: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return jnp.tanh(carry @ w) + row, carry.sum(-1)

        last, sums = lax.scan(step, a, jnp.zeros((5, *a.shape)))
        stopped = lax.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, s[1] @ w), (0, last))
        return last, sums, lax.cond(count > 1, lambda v: v @ w, jnp.sin, stopped[1])

    return jax.jit(f).lower(
        array(mesh, (64, 32), "x"), array(mesh, (32, 32), None, "y"), array(mesh, (), dtype=jnp.int32)
    )


@function
def loop_beside_a_constraint() -> Any:
    mesh = grid()

    def f(a: Any, b: Any) -> Any:
        held = constrain(a, mesh, "x", None)
        return lax.fori_loop(0, 3, lambda i, v: v + jnp.sin(held) * a, b)

    return jax.jit(f).lower(jax.ShapeDtypeStruct((64, 32), jnp.float32), array(mesh, (64, 32), None, "y"))


@function
def slices_at_constants() -> Any:
    mesh = grid()

    def f(a: Any) -> Any:
        at = [(1, 2), (60, 30), (-5, 0)]
        return [lax.dynamic_slice(a, start, (8, 16)) for start in at], lax.dynamic_slice(a, (0, 0), (64, 16))

    return jax.jit(f).lower(array(mesh, (64, 32), "x", "y"))


@function
def values_that_loops_only_carry() -> Any:
    mesh = grid()

    def f(a: Any, b: Any) -> Any:
        def turn(state: Any) -> Any:
            count, total, kept = state
            return count + 1, jnp.tanh(total + kept), kept

        last = lax.while_loop(lambda state: state[0] < 3, turn, (0, a, b))
        return last[1], last[2].T

    return jax.jit(f).lower(array(mesh, (64, 32), None, "x"), array(mesh, (64, 32), "x"))


@function
def dimensions_of_size_one() -> Any:
    mesh = grid()

    def f(a: Any, b: Any) -> Any:
        rows = lax.scan(lambda carry, row: (carry + row, carry * row), a[0], a)[1]
        return rows + b, jnp.tanh(a[None]) + b[:, None]

    return jax.jit(f).lower(array(mesh, (64, 64), None, "x"), array(mesh, (64, 64), "x"))


@function
def gradients() -> Any:
    mesh = grid()

    def loss(w: Any, a: Any) -> Any:
        layer = jax.checkpoint(lambda h: jnp.tanh(h @ w["in"]) @ w["out"])
        return jnp.mean(jnp.square(layer(layer(a))))

    weights = {"in": array(mesh, (32, 64), None, "y"), "out": array(mesh, (64, 32), "y")}
    return jax.jit(jax.value_and_grad(loss)).lower(weights, array(mesh, (64, 32), "x"))


@function
def custom_derivatives() -> Any:
    mesh = grid()

    @jax.custom_jvp
    def safe(x: Any) -> Any:
        return jnp.log1p(x)

    @safe.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return safe(*primals), tangents[0] / (1 + primals[0])

    @jax.custom_vjp
    def clipped(x: Any) -> Any:
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    return jax.jit(jax.grad(lambda a: jnp.sum(safe(clipped(a)) ** 2))).lower(array(mesh, (64, 32), "x", "y"))


@function
def random_keys() -> Any:
    mesh = grid()
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 8))
    keys = jax.ShapeDtypeStruct(keys.shape, keys.dtype, sharding=NamedSharding(mesh, P("x")))
    return jax.jit(lambda k: (k, jax.vmap(lambda key: jax.random.normal(key, (16,)))(k))).lower(keys)


@function
def effects() -> Any:
    mesh = grid()

    def f(a: Any) -> Any:
        jax.debug.print("{}", a.sum(), ordered=False)
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(a.shape, a.dtype), a) + a

    return jax.jit(f).lower(array(mesh, (64, 32), "x"))


@function
def effects_in_order() -> Any:
    mesh = grid()

    @jax.jit
    def shown(a: Any) -> Any:
        jax.debug.callback(lambda _: None, a)
        return a * 2

    def f(a: Any, b: Any, c: Any, d: Any) -> Any:
        shown_first, second = shown(c + a), c + b
        jax.debug.callback(lambda _: None, d + a)
        return second, shown_first, d + b

    free = jax.ShapeDtypeStruct((64, 32), jnp.float32)
    return jax.jit(f).lower(array(mesh, (64, 32), "x"), array(mesh, (64, 32), "y"), free, free)


@function
def a_result_before_an_effect() -> Any:
    mesh = grid()

    def f(a: Any, b: Any, c: Any) -> Any:
        first, second = c + a, c + b
        jax.debug.callback(lambda _: None, first)
        return second

    free = jax.ShapeDtypeStruct((64, 32), jnp.float32)
    return jax.jit(f).lower(array(mesh, (64, 32), "x"), array(mesh, (64, 32), "y"), free)


@function
def reductions_of_which_one_is_used() -> Any:
    mesh = grid()

    def f(a: Any, b: Any, c: Any) -> Any:
        def pair(p: Any, q: Any) -> Any:
            return p[0] + q[0], p[1] * q[1]

        first = lax.reduce((b, c), (0.0, 0.0), pair, (1,))[0]
        return first, lax.reduce((a, c), (0.0, 0.0), pair, (0,))[0], c

    free = jax.ShapeDtypeStruct((64, 32), jnp.float32)
    return jax.jit(f).lower(array(mesh, (64, 32), None, "x"), array(mesh, (64, 32), "y"), free)


@function
def empty_values() -> Any:
    mesh = grid()
    return jax.jit(lambda a: (a[:0], jnp.concatenate([a[:0], a]), a[:0].sum(0))).lower(
        array(mesh, (64, 32), "x", "y")
    )


@function
def expanded_ops() -> Any:
    mesh = grid()
    trigonometric = (jnp.arccos, jnp.arccosh, jnp.arcsin, jnp.arcsinh, jnp.arctan, jnp.arctanh, jnp.tan)
    ops: list[Any] = [*trigonometric, jnp.cosh, jnp.sinh, jnp.square, jnp.sinc, jnp.log1p]
    ops += [special.erf, special.erfc, special.erfinv, special.gammaln, special.digamma]
    ops += [special.i0e, special.i1e]
    ops += [
        lambda a: special.zeta(a, 2.0),
        lambda a: jnp.nextafter(a, 1.0),
        lambda a: special.polygamma(1, a),
    ]

    def f(a: Any, z: Any) -> Any:
        return [op(a) for op in ops], [jnp.tan(z), jnp.arcsin(z), jnp.square(z)]

    return jax.jit(f).lower(array(mesh, (64, 32), "x", "y"), array(mesh, (64, 32), "y", dtype=jnp.complex64))


@function
def best_of() -> Any:
    mesh = grid()

    def f(a: Any, b: Any) -> Any:
        return [(lax.top_k(v, 4), lax.top_k(v, 32), lax.approx_max_k(v, 4)) for v in (a, b)]

    return jax.jit(f).lower(array(mesh, (64, 32), "x", "y"), array(mesh, (64, 32), None, "x"))


if __name__ == "__main__":
    print_compared(FUNCTIONS, sys.argv[1:])
