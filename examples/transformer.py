"""The training step of a small transformer on 2 x 4 devices, sharded along data and model.

python examples/transformer.py          (needs JAX; writes transformer.html)
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from shardy_py import Program, propagate

WIDTH, HEADS, HEAD, TOKENS = 512, 8, 64, 8192
WEIGHTS = {
    "query": ((WIDTH, HEADS, HEAD), P(None, "model")),
    "key": ((WIDTH, HEADS, HEAD), P(None, "model")),
    "value": ((WIDTH, HEADS, HEAD), P(None, "model")),
    "out": ((HEADS, HEAD, WIDTH), P("model")),
    "up": ((WIDTH, 4 * WIDTH), P(None, "model")),
    "down": ((4 * WIDTH, WIDTH), P("model")),
    "scale": ((2, WIDTH), P()),
}


def norm(x, scale):
    """RMSNorm."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def attention(x, w):
    """Causal self-attention; heads are sharded along model."""
    query, key, value = (jnp.einsum("bsd,dhk->bshk", x, w[name]) for name in ("query", "key", "value"))
    scores = jnp.einsum("bshk,bthk->bhst", query, key) / HEAD**0.5
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
    return jnp.einsum("bhst,bthk,hkd->bsd", weights, value, w["out"])


def feed_forward(x, w):
    """Two products; the inner dimension is sharded along model."""
    return jax.nn.gelu(x @ w["up"]) @ w["down"]


def loss(weights, tokens):
    """The cross entropy of the next token."""
    x = weights["embedding"][tokens[:, :-1]]
    for number, w in enumerate(weights["layers"]):
        with jax.named_scope(f"layer_{number}"):
            with jax.named_scope("attention"):
                x = x + attention(norm(x, w["scale"][0]), w)
            with jax.named_scope("feed_forward"):
                x = x + feed_forward(norm(x, w["scale"][1]), w)
    with jax.named_scope("loss"):
        logits = jax.nn.log_softmax(x @ weights["embedding"].T)
        return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], -1))


def step(weights, tokens):
    """One step of gradient descent."""
    value, gradients = jax.value_and_grad(loss)(weights, tokens)
    with jax.named_scope("update"):
        return value, jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients)


def lowered(layers: int):
    """Returns the step, lowered for a mesh without devices."""
    mesh = AbstractMesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)

    def array(shape, spec, dtype=jnp.float32):
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    layer = {name: array(shape, spec) for name, (shape, spec) in WEIGHTS.items()}
    weights = {"embedding": array((TOKENS, WIDTH), P("model")), "layers": [layer] * layers}
    return (
        jax.jit(step)
        .trace(weights, array((16, 257), P("data"), jnp.int32))
        .lower(lowering_platforms=("tpu",))
    )


def main() -> None:
    """Writes the explorer of four layers."""
    result = propagate(Program.from_jax(lowered(4)))
    result.explorer(titles=("transformer.py", "")).save("transformer.html")
    print(result.summary())


if __name__ == "__main__":
    main()
