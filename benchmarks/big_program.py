"""A training step of a Llama with many layers, unrolled: `python benchmarks/big_program.py [--layers 80]`.

On a mesh of 16 x 16 x 4 devices: tensors sharded along fsdp and tensor, batch along data and fsdp. With
`--mixed` the layers are in bfloat16 and rematerialized, and the gradients are clipped by their global norm.
Prints CPU seconds of this process: JAX's own lowering, then each step here. Needs JAX.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from shardy_py import Program, propagate
from shardy_py.check import check, findings_text

WIDTH, HEADS, KV_HEADS, HEAD, INNER, TOKENS, LENGTH, BATCH = 8192, 64, 8, 128, 28672, 128256, 4096, 512
MESH = AbstractMesh((16, 16, 4), ("data", "fsdp", "tensor"), axis_types=(AxisType.Auto,) * 3)
LAYER = {
    "attention_norm": ((WIDTH,), P(None)),
    "query": ((WIDTH, HEADS, HEAD), P("fsdp", "tensor", None)),
    "key": ((WIDTH, KV_HEADS, HEAD), P("fsdp", "tensor", None)),
    "value": ((WIDTH, KV_HEADS, HEAD), P("fsdp", "tensor", None)),
    "out": ((HEADS, HEAD, WIDTH), P("tensor", None, "fsdp")),
    "mlp_norm": ((WIDTH,), P(None)),
    "gate": ((WIDTH, INNER), P("fsdp", "tensor")),
    "up": ((WIDTH, INNER), P("fsdp", "tensor")),
    "down": ((INNER, WIDTH), P("tensor", "fsdp")),
}
Made = TypeVar("Made")


def norm(x: Any, scale: Any) -> Any:
    """RMSNorm."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def rotated(x: Any) -> Any:
    """Rotary position embeddings."""
    angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(HEAD // 2) / (HEAD // 2))
    cosine, sine = jnp.cos(angles)[None, :, None], jnp.sin(angles)[None, :, None]
    first, second = jnp.split(x, 2, -1)
    return jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)


def layer(x: Any, w: Any) -> Any:
    """Grouped-query attention and SwiGLU."""
    normed = norm(x, w["attention_norm"])
    query, key, value = (jnp.einsum("bsd,dhk->bshk", normed, w[name]) for name in ("query", "key", "value"))
    query, key = rotated(query), rotated(key)
    query = query.reshape(*query.shape[:2], KV_HEADS, HEADS // KV_HEADS, HEAD)
    scores = jnp.einsum("bsgqk,btgk->bgqst", query, key) / HEAD**0.5
    causal = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e30))
    mixed = jnp.einsum("bgqst,btgk->bsgqk", weights, value).reshape(*x.shape[:2], HEADS, HEAD)
    x = x + jnp.einsum("bshk,hkd->bsd", mixed, w["out"])
    normed = norm(x, w["mlp_norm"])
    return x + (jax.nn.silu(normed @ w["gate"]) * (normed @ w["up"])) @ w["down"]


def mixed_layer(x: Any, w: Any) -> Any:
    """A layer in bfloat16, computed again in the backward pass."""
    return jax.checkpoint(layer)(x.astype(jnp.bfloat16), jax.tree.map(lambda a: a.astype(jnp.bfloat16), w))


def loss(weights: Any, tokens: Any, apply: Callable[[Any, Any], Any] = layer) -> Any:
    """The cross entropy of the next token."""
    x = weights["embedding"][tokens[:, :-1]]
    for number, w in enumerate(weights["layers"]):
        with jax.named_scope(f"layer_{number}"):
            x = apply(x, w)
    logits = jax.nn.log_softmax(x @ weights["embedding"].T)
    return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], -1))


def clipped(gradients: Any) -> Any:
    """The gradients scaled to a global norm of at most 1."""
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(gradients)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), gradients)


def step(weights: Any, first: Any, second: Any, tokens: Any, *, mixed: bool = False) -> Any:
    """One step of Adam."""
    apply = mixed_layer if mixed else layer
    value, gradients = jax.value_and_grad(loss)(weights, tokens, apply)
    gradients = clipped(gradients) if mixed else gradients
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, gradients)
    weights = jax.tree.map(lambda w, m, v: w - 3e-4 * m / (jnp.sqrt(v) + 1e-8), weights, first, second)
    return value, weights, first, second


def lowered(layers: int, *, mixed: bool = False) -> Any:
    """The step as JAX lowers it."""

    def array(shape: tuple[int, ...], spec: Any, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, spec))

    one = {name: array(shape, spec) for name, (shape, spec) in LAYER.items()}
    weights = {"embedding": array((TOKENS, WIDTH), P("tensor", "fsdp")), "layers": [one] * layers}
    tokens = array((BATCH, LENGTH + 1), P(("data", "fsdp")), jnp.int32)
    return (
        jax.jit(partial(step, mixed=mixed))
        .trace(weights, weights, weights, tokens)
        .lower(lowering_platforms=("tpu",))
    )


TAKEN: dict[str, float] = {}
"""The CPU seconds of each step."""


def timed(name: str, make: Callable[[], Made]) -> Made:
    """The result of `make`, whose CPU seconds are printed."""
    started = process_time()
    made = make()
    TAKEN[name] = process_time() - started
    print(f"{name:34}{TAKEN[name]:8.2f} s", flush=True)
    return made


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=80)
    parser.add_argument("--mixed", action="store_true", help="bfloat16, rematerialization, clipping")
    options = parser.parse_args()
    step_ = timed("JAX's lowering", lambda: lowered(options.layers, mixed=options.mixed))
    timed("its text, printed by JAX", lambda: step_.as_text(debug_info=True))
    program = timed("Program.from_jax", lambda: Program.from_jax(step_))
    result = timed("propagate", lambda: propagate(program, progress=False))
    print(f"{len(result.values):,} values")
    timed("summary", result.summary)
    timed("communication", result.communication)
    timed("memory", lambda: str(result.memory()))
    timed("memory of tpu-v5p, estimate", lambda: result.memory("tpu-v5p").estimate)
    timed("time of tpu-v5p", lambda: str(result.time("tpu-v5p")))
    findings = timed("check", lambda: check(result))
    for memory in ("memory", "memory of tpu-v5p, estimate"):
        reports = ("communication", memory, "time of tpu-v5p", "check")
        taken = sum(TAKEN[name] for name in reports) / TAKEN["propagate"]
        print(f"{', '.join(reports)}: {taken:.2f} propagations")
    text = timed("findings as text", lambda: findings_text(findings))
    print(f"{len(findings):,} findings, {text.count(chr(10)):,} lines")
    line = next(v.location for v in result.values if v.op_name == "stablehlo.dot_general").split(" ")[0]
    place = line.rpartition(":")[0]
    explained = timed(f"explain {place.rpartition('/')[2]}", lambda: str(result.explain(place)))
    print(f"{explained.count(chr(10)):,} lines")


if __name__ == "__main__":
    main()
