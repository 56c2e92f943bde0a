"""Writes the programs of this folder: `python -m tests.report.pipeline.make_programs` (needs JAX).

Pipelines as scans over iterations in which each stage computes one microbatch and sends it on: by
`shard_map` and `ppermute`, and by a rotated array whose first dimension is sharded, as MaxText's; and loops
that are none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

STAGES, ROWS, WIDTH = 4, 2, 8
MESH = jax.make_mesh((STAGES,), ("stage",), axis_types=(AxisType.Auto,))


def array(*shape: int, spec: tuple[Any, ...] = ()) -> Any:
    """Returns an abstract array."""
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P(*spec)))


def pinned(x: Any) -> Any:
    """Shards the first dimension along the stages."""
    return lax.with_sharding_constraint(x, NamedSharding(MESH, P("stage")))


def layer(w: Any, x: Any) -> Any:
    """Returns what a stage computes."""
    return jnp.tanh(x @ w)


def by_ppermute(microbatches: int, delay: int = 1) -> Callable[..., Any]:
    """GPipe: devices send what they computed; with a delay of 2, what they computed an iteration before."""
    ring = [(n, n + 1) for n in range(STAGES - 1)]
    last = delay * (STAGES - 1)

    def local(w: Any, xs: Any) -> Any:
        stage = lax.axis_index("stage")

        def step(carry: Any, t: Any) -> Any:
            (arrived, made), out = carry
            first = lax.dynamic_index_in_dim(xs, jnp.clip(t, 0, microbatches - 1), keepdims=False)
            y = layer(w[0], jnp.where(stage == 0, first, arrived))
            arrived = lax.ppermute(y if delay == 1 else made, "stage", ring)
            kept = lax.dynamic_update_index_in_dim(out, y, jnp.clip(t - last, 0, microbatches - 1), 0)
            return ((arrived, y), jnp.where(t >= last, kept, out)), None

        zero = lax.pcast(jnp.zeros(xs.shape[1:]), "stage", to="varying")
        out = lax.pcast(jnp.zeros(xs.shape), "stage", to="varying")
        (_, out), _ = lax.scan(step, ((zero, zero), out), jnp.arange(microbatches + last))
        return out[None]

    def f(w: Any, xs: Any) -> Any:
        mapped = jax.shard_map(local, mesh=MESH, in_specs=(P("stage"), P()), out_specs=P("stage"))
        return mapped(w, xs)[-1]

    return f


def by_rotation(microbatches: int) -> Callable[..., Any]:
    """GPipe: what all stages computed is one array, which is rotated."""

    def f(w: Any, xs: Any) -> Any:
        first = jnp.arange(STAGES)[:, None, None] == 0

        def step(state: Any, t: Any) -> Any:
            x = lax.dynamic_index_in_dim(xs, jnp.clip(t, 0, microbatches - 1), keepdims=True)
            y = pinned(jax.vmap(layer)(w, pinned(jnp.where(first, x, state))))
            return pinned(jnp.roll(y, 1, axis=0)), y[-1]

        start = pinned(jnp.zeros((STAGES, ROWS, WIDTH)))
        _, ys = lax.scan(step, start, jnp.arange(microbatches + STAGES - 1))
        return ys[STAGES - 1 :]

    return f


def circular(microbatches: int, repeats: int) -> Callable[..., Any]:
    """Circular: each stage has the weights of several groups of layers, and microbatches come round again."""

    def f(w: Any, xs: Any) -> Any:
        stages = jnp.arange(STAGES)
        first = stages[:, None, None] == 0

        def step(carry: Any, t: Any) -> Any:
            state, waiting = carry
            new = lax.dynamic_index_in_dim(xs, t % microbatches, keepdims=True)
            again = lax.dynamic_index_in_dim(waiting, t % microbatches, keepdims=True)
            x = jnp.where(first, jnp.where(t < microbatches, new, again), state)
            turn = jnp.clip((t - stages) // microbatches, 0, repeats - 1)
            own = jax.vmap(lambda w, n: lax.dynamic_index_in_dim(w, n, keepdims=False))(w, turn)
            y = pinned(jax.vmap(layer)(own, pinned(x)))
            state = pinned(jnp.roll(y, 1, axis=0))
            place = (t - (STAGES - 1)) % microbatches
            waiting = lax.dynamic_update_index_in_dim(waiting, state[0], place, 0)
            return (state, waiting), y[-1]

        start = pinned(jnp.zeros((STAGES, ROWS, WIDTH))), jnp.zeros(xs.shape)
        total = microbatches * repeats + STAGES - 1
        _, ys = lax.scan(step, start, jnp.arange(total))
        return ys[-microbatches:]

    return f


def ring(w: Any, xs: Any) -> Any:
    """Not a pipeline: what goes round is not what is computed."""

    def local(w: Any, x: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            keys, total = carry
            total = total + (x @ w[0]) @ keys.T
            return (lax.ppermute(keys, "stage", [(n, (n + 1) % STAGES) for n in range(STAGES)]), total), None

        total = lax.pcast(jnp.zeros((x.shape[0], x.shape[0])), "stage", to="varying")
        return lax.scan(step, (x, total), None, length=STAGES)[0][1]

    return jax.shard_map(local, mesh=MESH, in_specs=(P("stage"), P("stage")), out_specs=P("stage"))(w, xs)


def halo(w: Any, xs: Any) -> Any:
    """Not a pipeline: all devices have the same weights, and send the borders of their parts."""

    def local(w: Any, x: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            before = lax.ppermute(x[-1:], "stage", [(n, (n + 1) % STAGES) for n in range(STAGES)])
            return jnp.tanh(jnp.concatenate([before, x[:-1]]) @ w), None

        return lax.scan(step, x, None, length=6)[0]

    return jax.shard_map(local, mesh=MESH, in_specs=(P(), P("stage")), out_specs=P("stage"))(w, xs)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "ppermute": (by_ppermute(6), (array(STAGES, WIDTH, WIDTH, spec=("stage",)), array(6, ROWS, WIDTH))),
    "delayed": (by_ppermute(6, 2), (array(STAGES, WIDTH, WIDTH, spec=("stage",)), array(6, ROWS, WIDTH))),
    "rotation": (by_rotation(5), (array(STAGES, WIDTH, WIDTH, spec=("stage",)), array(5, ROWS, WIDTH))),
    "circular": (
        circular(4, 3),
        (array(STAGES, 3, WIDTH, WIDTH, spec=("stage",)), array(4, ROWS, WIDTH)),
    ),
    "training": (
        lambda w, xs: jax.grad(lambda w, xs: (by_rotation(5)(w, xs) ** 2).mean())(w, xs),
        (array(STAGES, WIDTH, WIDTH, spec=("stage",)), array(5, ROWS, WIDTH)),
    ),
    "ring": (ring, (array(STAGES, WIDTH, WIDTH, spec=("stage",)), array(16, WIDTH, spec=("stage",)))),
    "halo": (halo, (array(WIDTH, WIDTH), array(16, WIDTH, spec=("stage",)))),
}


def main() -> None:
    for name, (function, arguments) in PROGRAMS.items():
        text = jax.jit(function).lower(*arguments).as_text(debug_info=False)
        Path(__file__).with_name(f"{name}.mlir").write_text(text)


if __name__ == "__main__":
    main()
